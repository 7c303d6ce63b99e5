"""Conversation with an OpenMetadata server."""

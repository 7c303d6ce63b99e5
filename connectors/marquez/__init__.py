"""Conversation with a Marquez server."""

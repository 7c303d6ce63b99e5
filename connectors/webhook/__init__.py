"""Conversation with whoever wants to be told."""

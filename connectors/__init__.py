"""Conversation with the systems outside, one package each."""

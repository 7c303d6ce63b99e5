"""Webhook target: receives an HTTP POST when a run ends."""

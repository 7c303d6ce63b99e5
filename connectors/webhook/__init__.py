"""Webhook client."""

"""Connectors: protocol, session and retries, one package per external system."""

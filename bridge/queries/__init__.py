"""Typed queries: one definition serves the CLI, HTTP, the UI and the reference."""

"""The agent: a single file that wraps a command, or that scripts import."""

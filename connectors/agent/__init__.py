"""The agent: one file that stands in front of a command, or is imported by an old script."""

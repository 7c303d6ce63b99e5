"""The canonical store: tables, the one write path, and what is read from it."""

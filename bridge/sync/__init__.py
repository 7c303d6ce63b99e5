"""Keeps targets what the store says: what is to be pushed, what became of it, and when to try again."""

"""Reads from the canonical store what any sync target needs."""

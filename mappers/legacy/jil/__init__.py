"""Parses JIL, and extracts jobs, dependencies and lineage from it."""

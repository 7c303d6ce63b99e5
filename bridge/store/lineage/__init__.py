"""Lineage in the store: evidence, graph and walks."""

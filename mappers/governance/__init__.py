"""Governance facets, contracts and their three-way merge."""

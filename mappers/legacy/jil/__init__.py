"""Definitions of Autosys jobs: what JIL says, and what of it is lineage."""

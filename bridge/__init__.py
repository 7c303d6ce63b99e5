"""Stores OpenLineage events durably, merges them, and keeps data catalogs in sync."""

__version__ = "0.1.0"

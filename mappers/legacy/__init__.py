"""Translates reports of legacy jobs into OpenLineage events."""

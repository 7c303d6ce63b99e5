"""Maps OpenLineage events to canonical rows."""

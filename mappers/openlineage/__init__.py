"""OpenLineage events, read tolerantly and turned into statements of the canonical vocabulary."""

"""OpenMetadata as a target: entities, and the lineage between them."""

"""Maps canonical rows to OpenMetadata requests."""

"""JIL: parser, job catalog, and lineage of job definitions."""

"""The canonical store: schema, write path, lineage graph and search."""

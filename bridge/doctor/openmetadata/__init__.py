"""What can keep lineage from reaching OpenMetadata; the server is only read."""

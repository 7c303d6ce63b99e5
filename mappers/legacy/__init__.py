"""What jobs that do not speak OpenLineage report about themselves, turned into OpenLineage events."""

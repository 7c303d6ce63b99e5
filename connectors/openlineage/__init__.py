"""OpenLineage events over HTTP and in files."""

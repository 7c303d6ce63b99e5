"""OpenLineage events from files, and to a service over HTTP."""

"""Sends OpenLineage events over HTTP, and reads them from files."""

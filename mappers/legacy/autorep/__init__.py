"""Parses autorep reports and scheduler logs."""

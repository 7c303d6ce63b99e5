"""Reads the data that sync targets need from the canonical store."""

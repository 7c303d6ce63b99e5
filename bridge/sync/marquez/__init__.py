"""Marquez target."""

"""Marquez client."""

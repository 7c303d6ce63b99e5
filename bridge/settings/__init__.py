"""Typed settings: model, loading and validation."""

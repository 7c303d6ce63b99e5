"""Wires the application together, one module per entry point."""

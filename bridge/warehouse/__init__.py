"""The canonical store as tables for other houses: their DDL, and the rows to load them with."""

"""Exports the canonical store to data warehouses: DDL and INSERT statements per SQL dialect."""

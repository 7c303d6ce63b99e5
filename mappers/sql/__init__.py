"""What a query of Spark's dialect reads, and which of its columns come from which."""

"""Spark with the OpenLineage listener: which packages go together, the conf that works, and running a job with it."""

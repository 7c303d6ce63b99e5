"""Spark with the OpenLineage listener: supported releases, conf, checks, and running jobs."""

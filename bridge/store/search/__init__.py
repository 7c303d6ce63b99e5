"""Search index of datasets and jobs."""

"""The standard process framework: a job as a YAML file and SQL."""

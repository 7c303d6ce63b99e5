"""Process framework: jobs defined in YAML and SQL, run on PySpark."""

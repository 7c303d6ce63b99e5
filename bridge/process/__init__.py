"""Process framework: jobs as a YAML file and SQL, run on PySpark."""

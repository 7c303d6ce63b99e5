"""The job of `lineage-bridge spark check`: writes a dataset, and derives another one from it."""

from pathlib import Path

from pyspark.sql import SparkSession

session = SparkSession.builder.getOrCreate()
folder_uri = Path.cwd().as_uri()
session.range(100).selectExpr("id", "id * 2 AS doubled").write.parquet(f"{folder_uri}/made")
session.read.parquet(f"{folder_uri}/made").where("id > 10").write.parquet(f"{folder_uri}/read")
session.stop()

"""A plain Spark job, written without the process framework: finds the best customer of each country."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("top").getOrCreate()
revenue, lake = sys.argv[1:]

best = spark.read.parquet(revenue).groupBy("country").agg(F.max_by("customer", "revenue").alias("customer"))
best.write.mode("overwrite").parquet(f"{lake}/top")
spark.stop()

"""A job that fails on its second order, as jobs do."""

import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("broken").getOrCreate()
_, lake = sys.argv[1:]

orders = spark.read.parquet(f"{lake}/orders")
checked = "CASE WHEN amount < 100 THEN CAST(raise_error('an order below 100') AS DOUBLE) ELSE amount END AS amount"
orders.selectExpr("id", checked).write.mode("overwrite").parquet(f"{lake}/large_orders")

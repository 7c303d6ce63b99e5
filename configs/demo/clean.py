"""Raw CSV files become typed, cleaned tables."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

_CUSTOMER = "id STRING, name STRING, email STRING, country STRING"
_ORDER = "id STRING, customer_id STRING, amount STRING, ordered_at STRING"

spark = SparkSession.builder.appName("clean").getOrCreate()
here, lake = sys.argv[1:]

customers = spark.read.csv(f"{here}/customers.csv", _CUSTOMER, header=True)
customers.where("email IS NOT NULL").select(
    F.col("id").cast("int").alias("id"),
    F.trim("name").alias("name"),
    F.lower("email").alias("email"),
    F.upper("country").alias("country"),
).write.mode("overwrite").parquet(f"{lake}/customers")

orders = spark.read.csv(f"{here}/orders.csv", _ORDER, header=True)
orders.where("CAST(amount AS DOUBLE) > 0").selectExpr(
    "CAST(id AS INT) AS id",
    "CAST(customer_id AS INT) AS customer_id",
    "CAST(amount AS DOUBLE) AS amount",
    "CAST(ordered_at AS DATE) AS ordered_at",
).write.mode("overwrite").parquet(f"{lake}/orders")
spark.stop()

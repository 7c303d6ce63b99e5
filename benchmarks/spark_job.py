"""The job of `benchmarks.spark_overhead`: five writes to warm up, then twenty timed writes."""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

_WARM, _TIMED = 5, 20

spark = SparkSession.builder.appName("overhead").getOrCreate()
base = sys.argv[1]
orders = spark.range(200_000).select("id", (f.col("id") % 100).alias("customer"), (f.col("id") * 0.5).alias("amount"))
orders.write.parquet(f"{base}/orders")
read = spark.read.parquet(f"{base}/orders")


def write(number: int) -> None:
    """Read, filter, aggregate and write, like a step of a batch job."""
    totals = read.where(f.col("id") % 3 != number).groupBy("customer").agg(f.sum("amount").alias("total"))
    totals.write.parquet(f"{base}/out/{number}")


for number in range(_WARM):
    write(number)
start = time.perf_counter()
for number in range(_WARM, _WARM + _TIMED):
    write(number)
actions = time.perf_counter() - start
Path(base, "times.json").write_text(json.dumps({"actions": actions, "ended": time.time()}), encoding="utf-8")
spark.stop()

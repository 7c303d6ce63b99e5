"""The Spark jobs of `benchmarks.process`: the inputs, and benchmarks/process.yaml written by hand.

python process_job.py make ROWS SOURCE CONF | run SOURCE TARGET CONF | check SOURCE TARGET CONF
"""

import json
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

_CUSTOMERS, _DAYS = 100_000, 30


def make(spark: SparkSession, rows: int, source: str) -> None:
    """Write trades and customers."""
    number = f.xxhash64("id")
    spark.range(rows).select(
        "id",
        (f.abs(number) % _CUSTOMERS).alias("account"),
        f.expr(f"DATE '2026-01-01' + CAST(abs(xxhash64(id, 1)) % {_DAYS} AS INT)").alias("day"),
        (f.abs(f.xxhash64("id", f.lit(2))) % 1_000).cast("int").alias("quantity"),
        ((f.abs(f.xxhash64("id", f.lit(3))) % 100_000) / 100).alias("price"),
    ).write.parquet(f"{source}/trades")
    spark.range(min(rows, _CUSTOMERS)).select(
        f.col("id").alias("account"),
        f.concat(f.lit("segment "), (f.col("id") % 7).cast("string")).alias("segment"),
        f.concat(f.lit("country "), (f.col("id") % 50).cast("string")).alias("country"),
    ).write.parquet(f"{source}/customers")


def totals(spark: SparkSession, source: str) -> DataFrame:
    """Join and aggregate."""
    spark.read.parquet(f"{source}/trades").createOrReplaceTempView("trades")
    spark.read.parquet(f"{source}/customers").createOrReplaceTempView("customers")
    print("read", flush=True)
    joined = spark.sql(
        "SELECT t.account, t.day, t.quantity * t.price AS amount, c.segment, c.country"
        " FROM trades t JOIN customers c ON t.account = c.account"
    )
    joined.createOrReplaceTempView("joined")
    return spark.sql(
        "SELECT account, segment, country, day, sum(amount) AS amount, max(amount) AS largest, count(*) AS trades"
        " FROM joined GROUP BY account, segment, country, day"
    )


def check(spark: SparkSession, target: str, columns: DataFrame) -> None:
    """Check nulls, ranges and row count in one pass, then duplicate keys."""
    written = spark.read.schema(columns.schema).parquet(target)
    row = written.agg(
        f.count_if(f.col("account").isNull()), f.count_if(f.col("amount") < 0), f.count(f.lit(1))
    ).collect()[0]
    duplicates = written.groupBy("account", "day").count().where("count > 1").count()
    assert (row[0], row[1], row[2] >= 0, duplicates) == (0, 0, True, 0), (row, duplicates)
    print("checked", flush=True)


def main() -> None:
    """Run the action named by the arguments."""
    action, first, second, conf = sys.argv[1:]
    spark = SparkSession.builder.appName("daily").config(map=json.loads(conf)).getOrCreate()
    if action == "make":
        make(spark, int(first), second)
    else:
        frame = totals(spark, first)
        frame.write.partitionBy("day").parquet(second)
        print("wrote", flush=True)
        if action == "check":
            check(spark, second, frame)
    spark.stop()


main()

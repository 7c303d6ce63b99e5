"""A stream that goes on until somebody ends it."""

from pathlib import Path

from session import begin

spark, base = begin("endless")


def write(batch, number):
    batch.write.mode("append").parquet(f"{base}/out/ticks")
    if number == 2:
        Path(base, "running").touch()


ticks = spark.readStream.format("rate").option("rowsPerSecond", 5).load()
ticks.writeStream.foreachBatch(write).option("checkpointLocation", f"{base}/check").start().awaitTermination()

"""A stream that runs until it is killed."""

from pathlib import Path

from session import start_session

spark, base = start_session("endless_stream")


def write(batch, number):
    batch.write.mode("append").parquet(f"{base}/out/ticks")
    if number == 2:
        Path(base, "running").touch()


ticks = spark.readStream.format("rate").option("rowsPerSecond", 5).load()
ticks.writeStream.foreachBatch(write).option("checkpointLocation", f"{base}/check").start().awaitTermination()

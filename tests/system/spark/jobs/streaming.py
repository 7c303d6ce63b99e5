from session import start_session

spark, base = start_session("streaming")
read = spark.readStream.schema("id INT, name STRING, email STRING, region STRING").json(f"{base}/in/customers")
to_files = (
    read.select("id", "region").writeStream.format("parquet").option("checkpointLocation", f"{base}/check/files")
)
to_files.trigger(availableNow=True).start(f"{base}/out/regions").awaitTermination()


def write(batch, number):
    batch.selectExpr("id", "upper(name) AS name").write.mode("append").parquet(f"{base}/out/names")


to_batches = read.writeStream.foreachBatch(write).option("checkpointLocation", f"{base}/check/batches")
to_batches.trigger(availableNow=True).start().awaitTermination()
spark.stop()

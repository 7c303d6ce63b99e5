from session import start_session

spark, base = start_session("governed")
customers = spark.read.schema("id INT, name STRING, email STRING, region STRING").json(f"{base}/in/customers")
customers.select("id", "region").write.parquet(f"{base}/lake/regions")
customers.select("id", "name").write.parquet(f"{base}/lake/names")
spark.stop()

from session import begin

spark, base = begin("governed")
customers = spark.read.schema("id INT, name STRING, email STRING, region STRING").json(f"{base}/in/customers")
customers.select("id", "region").write.parquet(f"{base}/lake/regions")
customers.select("id", "name").write.parquet(f"{base}/lake/names")
spark.stop()

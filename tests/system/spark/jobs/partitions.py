from session import start_session

spark, base = start_session("partitions")
spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
customers = spark.read.schema("id INT, name STRING, email STRING, region STRING").json(f"{base}/in/customers")
customers.write.partitionBy("region").parquet(f"{base}/lake/by_region")
north = customers.where("region = 'north'").selectExpr("id", "upper(name) AS name", "email", "region")
north.write.partitionBy("region").mode("overwrite").parquet(f"{base}/lake/by_region")
north_partition = spark.read.parquet(f"{base}/lake/by_region/region=north")
north_partition.select("id", "name").write.parquet(f"{base}/out/north")
spark.stop()

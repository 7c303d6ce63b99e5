from session import begin

spark, base = begin("partitions")
spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
customers = spark.read.schema("id INT, name STRING, email STRING, region STRING").json(f"{base}/in/customers")
customers.write.partitionBy("region").parquet(f"{base}/lake/by_region")
north = customers.where("region = 'north'").selectExpr("id", "upper(name) AS name", "email", "region")
north.write.partitionBy("region").mode("overwrite").parquet(f"{base}/lake/by_region")
one = spark.read.parquet(f"{base}/lake/by_region/region=north")
one.select("id", "name").write.parquet(f"{base}/out/north")
spark.stop()

from session import start_session

spark, base = start_session("delta_append")
customers = spark.read.schema("id INT, name STRING, email STRING, region STRING").json(f"{base}/in/customers")
customers.selectExpr("CAST(id AS STRING) AS id", "name").write.format("delta").saveAsTable("names")
orders = spark.read.option("header", True).csv(f"{base}/in/orders.csv")
orders.selectExpr("id", "customer AS name").write.format("delta").mode("append").saveAsTable("names")
spark.stop()

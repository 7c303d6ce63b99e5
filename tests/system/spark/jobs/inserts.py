from session import start_session

spark, base = start_session("inserts")
spark.read.schema("id INT, name STRING, email STRING, region STRING").json(
    f"{base}/in/customers"
).createOrReplaceTempView("customers")
spark.read.option("header", True).csv(f"{base}/in/orders.csv").createOrReplaceTempView("orders")
spark.sql("CREATE TABLE names (id STRING, name STRING) USING parquet")
spark.sql("INSERT INTO names SELECT id, name FROM customers")
spark.sql("INSERT INTO names SELECT id, customer FROM orders")
spark.stop()

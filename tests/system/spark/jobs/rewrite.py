import sys

from session import start_session

spark, base = start_session("rewrite")
customers = spark.read.schema("id STRING, name STRING, email STRING, region STRING").json(f"{base}/in/customers")
customers.createOrReplaceTempView("customers")
spark.read.option("header", True).csv(f"{base}/in/orders.csv").createOrReplaceTempView("orders")
if sys.argv[2] == "create":
    spark.sql("CREATE TABLE lake.sales.names USING iceberg AS SELECT id, name FROM customers")
elif sys.argv[2] == "append":
    spark.sql("INSERT INTO lake.sales.names SELECT id, customer FROM orders")
else:
    spark.sql(
        "INSERT INTO lake.sales.names SELECT id, IF(id > 0, raise_error('no more customers'), email) FROM customers"
    )
spark.stop()

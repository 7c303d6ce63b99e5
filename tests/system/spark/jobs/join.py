from pyspark.sql import functions as F
from session import start_session

spark, base = start_session("join")
orders = spark.read.schema("id INT, customer INT, amount DOUBLE, note STRING").csv(
    f"{base}/in/orders.csv", header=True
)
customers = spark.read.schema("id INT, name STRING, email STRING, region STRING").json(f"{base}/in/customers")
joined = orders.join(customers, orders.customer == customers.id)
totals = joined.groupBy("region").agg(
    F.sum("amount").alias("total"), F.count("*").alias("orders"), F.max("name").alias("last")
)
totals.write.parquet(f"{base}/out/totals")
spark.stop()

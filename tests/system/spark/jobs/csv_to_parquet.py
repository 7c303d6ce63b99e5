from pyspark.sql import functions as F
from session import start_session

spark, base = start_session("csv_to_parquet")
orders = spark.read.schema("id INT, customer INT, amount DOUBLE, note STRING").csv(
    f"{base}/in/orders.csv", header=True
)
paid = orders.where("amount > 0")
cents = (F.col("amount") * 100).cast("long").alias("cents")
paid.select(F.col("id").alias("order_id"), "customer", cents).write.parquet(f"{base}/lake/orders")
spark.stop()

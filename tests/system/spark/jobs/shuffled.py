from pyspark.sql import functions as F
from session import start_session

spark, base = start_session("shuffled")
orders = spark.read.schema("id INT, customer INT, amount DOUBLE, note STRING").csv(
    f"{base}/in/orders.csv", header=True
)
totals = orders.groupBy("customer").agg(F.sum("amount").alias("total"))
totals.selectExpr("CAST(raise_error('total is wrong') AS STRING) AS broken", "total").write.parquet(
    f"{base}/lake/totals"
)

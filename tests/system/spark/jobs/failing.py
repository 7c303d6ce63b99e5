from session import start_session

spark, base = start_session("failing")
orders = spark.read.schema("id INT, customer INT, amount DOUBLE, note STRING").csv(
    f"{base}/in/orders.csv", header=True
)
orders.select("id", "amount").write.parquet(f"{base}/lake/good")
orders.selectExpr("id", "CAST(raise_error('amount is missing') AS STRING) AS broken").write.parquet(
    f"{base}/lake/bad"
)

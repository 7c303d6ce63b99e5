import sys

from session import start_session

spark, base = start_session("jdbc")
url = sys.argv[2]
login = {"user": "tests", "driver": "org.postgresql.Driver"}
customers = spark.read.jdbc(url, "public.customers", properties=login)
customers.selectExpr("id", "upper(name) AS name").write.parquet(f"{base}/lake/customers")
orders = spark.read.schema("id INT, customer INT, amount DOUBLE, note STRING").csv(
    f"{base}/in/orders.csv", header=True
)
orders.select("id", "amount").write.jdbc(url, "public.amounts", properties=login)
spark.stop()

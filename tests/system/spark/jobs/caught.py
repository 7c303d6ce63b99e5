import sys

from session import begin

spark, base = begin("caught")
orders = spark.read.schema("id INT, customer INT, amount DOUBLE, note STRING").csv(
    f"{base}/in/orders.csv", header=True
)


def bad() -> None:
    try:
        orders.selectExpr("id", "CAST(raise_error('amount is missing') AS STRING) AS broken").write.parquet(
            f"{base}/lake/bad"
        )
    except Exception as error:  # noqa: BLE001 - a job that goes on, as jobs do
        print("caught", type(error))


if sys.argv[2] == "first":
    bad()
orders.select("id", "amount").write.parquet(f"{base}/lake/good")
if sys.argv[2] == "last":
    bad()
spark.stop()

import sys

from session import start_session

spark, base = start_session("caught")
orders = spark.read.schema("id INT, customer INT, amount DOUBLE, note STRING").csv(
    f"{base}/in/orders.csv", header=True
)


def write_bad() -> None:
    try:
        orders.selectExpr("id", "CAST(raise_error('amount is missing') AS STRING) AS broken").write.parquet(
            f"{base}/lake/bad"
        )
    except Exception as error:  # noqa: BLE001 - the job continues
        print("caught", type(error))


if sys.argv[2] == "first":
    write_bad()
orders.select("id", "amount").write.parquet(f"{base}/lake/good")
if sys.argv[2] == "last":
    write_bad()
spark.stop()

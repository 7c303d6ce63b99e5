from pyspark.sql import functions as F
from session import start_session

spark, base = start_session("udf")
customers = spark.read.schema("id INT, name STRING, email STRING, region STRING").json(f"{base}/in/customers")
initials = F.udf(lambda name: name[:1], "string")
customers.select("id", initials("name").alias("initial")).write.parquet(f"{base}/out/initials")
spark.stop()

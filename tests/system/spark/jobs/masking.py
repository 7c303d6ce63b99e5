from pyspark.sql import Window
from pyspark.sql import functions as F
from session import start_session

spark, base = start_session("masking")
customers = spark.read.schema("id INT, name STRING, email STRING, region STRING").json(f"{base}/in/customers")
customers.select(
    "id",
    F.sha2("email", 256).alias("email_hash"),
    F.expr("mask(name)").alias("name_mask"),
    F.concat_ws(" ", "name", F.md5("email")).alias("label"),
    F.when(F.col("region") == "north", F.col("name")).otherwise(F.lit("elsewhere")).alias("northern"),
    F.row_number().over(Window.partitionBy("region").orderBy("id")).alias("place"),
).write.parquet(f"{base}/out/masked")
spark.stop()

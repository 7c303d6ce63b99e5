from session import start_session

spark, base = start_session("delta")
spark.sql("CREATE TABLE customers (id INT, name STRING, region STRING) USING delta")
spark.sql("INSERT INTO customers VALUES (1, 'Ada', 'north'), (2, 'Bob', 'south')")
changes = spark.read.schema("id INT, name STRING, email STRING, region STRING").json(f"{base}/in/customers")
changes.createOrReplaceTempView("changes")
spark.sql("""
    MERGE INTO customers t USING changes c ON t.id = c.id
    WHEN MATCHED THEN UPDATE SET name = c.name, region = c.region
    WHEN NOT MATCHED THEN INSERT (id, name, region) VALUES (c.id, c.name, c.region)
""")
spark.table("customers").where("region = 'north'").select("id", "name").write.format("delta").save(
    f"{base}/lake/north"
)
spark.stop()

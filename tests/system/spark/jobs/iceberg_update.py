from session import start_session

spark, base = start_session("iceberg_update")
spark.sql("CREATE TABLE lake.sales.customers (id INT, name STRING, region STRING) USING iceberg")
spark.sql("INSERT INTO lake.sales.customers VALUES (1, 'Ada', 'north'), (2, 'Bob', 'south')")
changes = spark.read.schema("id INT, name STRING, email STRING, region STRING").json(f"{base}/in/customers")
changes.createOrReplaceTempView("changes")
spark.sql("""
    MERGE INTO lake.sales.customers t USING changes c ON t.id = c.id
    WHEN MATCHED THEN UPDATE SET name = c.name, region = c.region
    WHEN NOT MATCHED THEN INSERT (id, name, region) VALUES (c.id, c.name, c.region)
""")
spark.sql("UPDATE lake.sales.customers SET name = upper(name) WHERE region = 'south'")
spark.stop()

from session import start_session

spark, base = start_session("tables")
spark.sql("CREATE DATABASE sales")
spark.sql("CREATE TABLE sales.orders (id INT, customer INT, amount DOUBLE) USING parquet")
spark.sql("INSERT INTO sales.orders VALUES (1, 1, 10.0), (2, 1, 25.0), (3, 2, 99.0)")
spark.sql("CREATE TABLE sales.large USING parquet AS SELECT id, amount FROM sales.orders WHERE amount > 20")
spark.sql("INSERT OVERWRITE TABLE sales.large SELECT id, amount * 2 FROM sales.orders")
spark.sql("CREATE TABLE sales.passing USING parquet AS SELECT id FROM sales.large")
spark.sql("DROP TABLE sales.passing")
spark.stop()

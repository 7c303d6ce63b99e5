"""SQL lineage: columns of Spark SQL queries, tables of SQL scripts."""

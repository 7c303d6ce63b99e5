"""Three writes; each waits for the test, and for the listener to process the previous one."""

import time
from pathlib import Path

from session import start_session

spark, base = start_session("steps")
customers = spark.read.schema("id INT, name STRING, email STRING, region STRING").json(f"{base}/in/customers")
for step, columns in (("one", ["id", "name"]), ("two", ["id", "email"]), ("three", ["id", "region"])):
    while not Path(base, f"{step}.begin").exists():
        time.sleep(0.02)
    customers.select(*columns).write.parquet(f"{base}/lake/{step}")
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    Path(base, f"{step}.done").touch()
spark.stop()

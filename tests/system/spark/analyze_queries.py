"""Spark job that analyzes queries: their column names and views, or the error."""

import json
import re
import sys
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

_VIEW = re.compile(r"View \(`([^`]+)`")

session = SparkSession.builder.getOrCreate()
request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
for view, columns in request["views"].items():
    session.sql(
        f"SELECT {', '.join(f'{value} AS {name}' for name, value in columns.items())}"
    ).createOrReplaceTempView(view)


def analyze(query):
    try:
        frame = session.sql(query)
        plan = frame._jdf.queryExecution().analyzed().toString()
    except (PySparkException, Py4JError) as error:
        return {"error": getattr(error, "getCondition", lambda: None)() or str(error)[:300]}
    return {"columns": frame.columns, "views": sorted({name.lower() for name in _VIEW.findall(plan)})}


Path(sys.argv[2]).write_text(json.dumps([analyze(query) for query in request["queries"]]), encoding="utf-8")
session.stop()

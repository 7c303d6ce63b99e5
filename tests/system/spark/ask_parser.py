"""A Spark job that asks the listener's own parser about many confs: one JSON line each, null where it raises."""

import json
import sys
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_JACKSON = "io.openlineage.spark.shaded.com.fasterxml.jackson"

session = SparkSession.builder.getOrCreate()
jvm = session.sparkContext._jvm


def java(name):
    found = jvm
    for part in name.split("."):
        found = getattr(found, part)
    return found


mapper = java(f"{_JACKSON}.databind.ObjectMapper")()
mapper.registerModule(java(f"{_JACKSON}.datatype.jdk8.Jdk8Module")())
annotations = java(f"{_JACKSON}.databind.MapperFeature").USE_ANNOTATIONS
mapper.configure(annotations, False)
mapper.configure(java(f"{_JACKSON}.databind.SerializationFeature").FAIL_ON_EMPTY_BEANS, False)
accessors, visible = (
    java(f"{_JACKSON}.annotation.PropertyAccessor"),
    java(f"{_JACKSON}.annotation.JsonAutoDetect$Visibility"),
)
mapper.setVisibility(accessors.ALL, visible.NONE)
mapper.setVisibility(accessors.FIELD, visible.ANY)


def parsed(conf):
    given = jvm.org.apache.spark.SparkConf(False)
    for key, value in conf.items():
        given.set(key, value)
    try:
        config = jvm.io.openlineage.spark.agent.ArgumentParser.parse(given)
    except Py4JJavaError:
        return None
    return mapper.writeValueAsString(config)


asked, answers = map(Path, sys.argv[1:])
answers.write_text("".join(json.dumps(parsed(conf)) + "\n" for conf in json.loads(asked.read_text())))
session.stop()

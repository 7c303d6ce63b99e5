"""Spark job that parses confs with the parser of the listener; the result is null where it raises."""

import json
import sys
import zipfile
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_JACKSON = "io.openlineage.spark.shaded.com.fasterxml.jackson"

session = SparkSession.builder.getOrCreate()
jvm = session.sparkContext._jvm


def java(name):
    member = jvm
    for part in name.split("."):
        member = getattr(member, part)
    return member


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


def parse(conf):
    spark_conf = jvm.org.apache.spark.SparkConf(False)
    for key, value in conf.items():
        spark_conf.set(key, value)
    try:
        config = jvm.io.openlineage.spark.agent.ArgumentParser.parse(spark_conf)
    except Py4JJavaError:
        return None
    return mapper.writeValueAsString(config)


def keys_in_jar(keys):
    """Return the keys that are constants in the classes of the listener."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    parser = jvm.java.lang.Class.forName("io.openlineage.spark.agent.ArgumentParser", True, loader)
    with zipfile.ZipFile(parser.getProtectionDomain().getCodeSource().getLocation().getPath()) as jar:
        classes = [name for name in jar.namelist() if name.startswith("io/openlineage/spark/agent/")]
        constants = b"".join(jar.read(name) for name in classes)
    return [key for key in keys if key.encode() in constants]


request_file, response_file = map(Path, sys.argv[1:])
request = json.loads(request_file.read_text())
response = {"parsed": [parse(conf) for conf in request["confs"]], "keys_in_jar": keys_in_jar(request["keys"])}
response["spark_conf"] = dict(session.sparkContext.getConf().getAll())
response_file.write_text(json.dumps(response))
session.stop()

"""A Spark job that asks the listener's own parser about many confs: what it makes of each, null where it raises."""

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


def in_the_jar(words):
    """Find words among the constants of the listener's classes."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    parser = jvm.java.lang.Class.forName("io.openlineage.spark.agent.ArgumentParser", True, loader)
    with zipfile.ZipFile(parser.getProtectionDomain().getCodeSource().getLocation().getPath()) as jar:
        ours = [name for name in jar.namelist() if name.startswith("io/openlineage/spark/agent/")]
        constants = b"".join(jar.read(name) for name in ours)
    return [word for word in words if word.encode() in constants]


asked, answers = map(Path, sys.argv[1:])
question = json.loads(asked.read_text())
said = {"parsed": [parsed(conf) for conf in question["confs"]], "in_the_jar": in_the_jar(question["words"])}
said["read"] = dict(session.sparkContext.getConf().getAll())
answers.write_text(json.dumps(said))
session.stop()

"""Checks that the packages of a conf fit each other and the line of Spark."""

import re
from collections.abc import Iterator, Mapping

from connectors.spark.findings import Effect, Finding
from connectors.spark.lines import LISTENER, Catalog, Line, lines_with

_JARS = ("spark.jars.packages", "spark.jars")
_LISTENER = re.compile(r"openlineage-spark(?:_([\d.]+))?[:-](\d[\w.]*?)(?:\.jar)?$")
_FORMATS = {
    Catalog.iceberg: re.compile(r"iceberg-spark-runtime-[\d.]+_[\d.]+"),
    Catalog.delta: re.compile(r"delta-spark_[\d._]+\d"),
}


def check_packages(conf: Mapping[str, str], line: Line | None) -> Iterator[Finding]:
    """Find packages that are missing, or made for another Spark or Scala."""
    named = [(key, name.strip()) for key in _JARS for name in conf.get(key, "").split(",") if name.strip()]
    listeners = [(key, found) for key, name in named if (found := _LISTENER.search(name))]
    if not listeners:
        remedy = f"name {line.listener}" if line else "name the listener's package"
        problem = "does not name the listener, which must be in Spark's own jars then"
        yield Finding("spark.jars.packages", Effect.doubtful, problem, remedy)
    for key, found in listeners:
        yield from _listener(key, found[1], found[2], line)
    for catalog, pattern in _FORMATS.items():
        for key, name in named:
            if (found := pattern.search(name)) and line:
                yield from _table_format(key, found[0], catalog, line)


def _listener(key: str, scala: str | None, release: str, line: Line | None) -> Iterator[Finding]:
    if scala is None:
        remedy = f"name {line.listener}" if line else "name it as openlineage-spark_2.12 or openlineage-spark_2.13"
        yield Finding(key, Effect.silent, "names the listener without a Scala version", remedy)
    elif line and scala != line.scala:
        problem = f"names the listener for Scala {scala}, and Spark {line.name} has Scala {line.scala}"
        yield Finding(key, Effect.silent, problem, f"name {line.listener}")
    if release != LISTENER:
        problem = f"names the listener {release}, and keys are checked against {LISTENER}"
        yield Finding(key, Effect.doubtful, problem, "see whether it knows them, too")


def _table_format(key: str, artifact: str, catalog: Catalog, line: Line) -> Iterator[Finding]:
    fitting = line.released(catalog)
    if fitting is None:
        problem = f"names {artifact}, and {catalog} has no release for Spark {line.name}"
        yield Finding(key, Effect.silent, problem, f"leave it out, or use {lines_with(catalog)}")
    elif artifact != fitting.split(":")[1]:
        yield Finding(key, Effect.silent, f"names {artifact}, which is not for Spark {line.name}", f"name {fitting}")

"""The session of Spark in which a process runs: with the listener, and quick to start."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.errors import MissingDependency
from connectors.spark.conf import ConfOptions, build_conf
from connectors.spark.releases import TableFormat
from connectors.spark.submit import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_IVY = (".ivy2.5.2/jars", ".ivy2/jars")
_PACKAGES = "spark.jars.packages"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_QUIET = Path(__file__).parent.resolve() / "quiet.properties"
#: Delta's parser passes over parameters, which are bound after it has parsed then.
_BESIDE_TABLES = {"spark.sql.legacy.parameterSubstitution.constantsOnly": "true"}
_JOINED = (_PACKAGES, "spark.extraListeners", "spark.sql.extensions")


def process_conf(wanted: ConfOptions, catalogs: Iterable[TableFormat], given: Mapping[str, str]) -> dict[str, str]:
    """Make the conf of a process; what is given wins, packages and listeners are added to what is given."""
    conf = build_conf(wanted)
    tables = [build_conf(wanted._replace(catalog=one)) | _BESIDE_TABLES for one in catalogs]
    for more in (*tables, given):
        joined = {
            key: ",".join(dict.fromkeys(one.strip() for one in f"{conf[key]},{more[key]}".split(",") if one.strip()))
            for key in _JOINED
            if key in conf and key in more
        }
        conf = conf | dict(more) | joined
    return conf


def use_cached_jars(conf: Mapping[str, str], homes: Path | None = None) -> dict[str, str]:
    """Name packages by their files where they were fetched before: to resolve them anew takes a second or two.

    That holds for packages without dependencies only, as the listener is.
    """
    names = [one for one in conf.get(_PACKAGES, "").split(",") if one]
    home = homes or Path.home()
    jars = []
    for name in names:
        group, artifact, version = [*name.split(":"), "", ""][:3]
        file = f"{group}_{artifact}-{version}.jar"
        found = next((home / place / file for place in _IVY if (home / place / file).exists()), None)
        if found is None or group != "io.openlineage":
            return dict(conf)
        jars.append(str(found))
    if not jars:
        return dict(conf)
    kept = {key: value for key, value in conf.items() if key != _PACKAGES}
    before = [one for one in kept.get("spark.jars", "").split(",") if one]
    return kept | {"spark.jars": ",".join([*before, *jars])}


def open_session(name: str, conf: Mapping[str, str]) -> "SparkSession":
    """Start Spark in this process, or take the session of the spark-submit that started it."""
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra: only who runs a process needs it
    except ImportError as error:
        raise MissingDependency(
            "there is no PySpark: install the extra: pip install 'lineage-bridge[process]'"
        ) from error
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        os.environ["JAVA_HOME"] = str(find_java())
    return SparkSession.builder.appName(name).config(map={**with_quiet_logging(use_cached_jars(conf))}).getOrCreate()


def with_quiet_logging(conf: Mapping[str, str]) -> dict[str, str]:
    """Let Spark say no more than what is wrong, unless somebody says otherwise."""
    given = conf.get(_JAVA_OPTIONS, "")
    if "log4j2.configurationFile" in given:
        return dict(conf)
    return {**conf, _JAVA_OPTIONS: f"{given} -Dlog4j2.configurationFile={_QUIET.as_uri()}".strip()}

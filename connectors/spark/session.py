"""Creates the Spark session of a process."""

import logging
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectors.errors import MissingDependency
from connectors.spark.conf import ConfOptions, build_conf
from connectors.spark.releases import TableFormat, find_release
from connectors.spark.submit import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_IVY_FOLDERS = (".ivy2.5.2/jars", ".ivy2/jars")
_PACKAGES = "spark.jars.packages"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_QUIET_LOGGING = Path(__file__).parent.resolve() / "quiet.properties"
#: Delta's parser ignores parameters; with this setting, Spark binds them after parsing.
_TABLE_CONF = {"spark.sql.legacy.parameterSubstitution.constantsOnly": "true"}
_LIST_KEYS = (_PACKAGES, "spark.extraListeners", "spark.sql.extensions")


def process_conf(
    options: ConfOptions, catalogs: Iterable[TableFormat], user_conf: Mapping[str, str]
) -> dict[str, str]:
    """Build the conf of a process; the user's settings take precedence, but packages and listeners are merged."""
    conf = build_conf(options)
    table_confs = [build_conf(options._replace(catalog=catalog)) | _TABLE_CONF for catalog in catalogs]
    for extra_conf in (*table_confs, user_conf):
        merged_lists = {
            key: _merge_lists(conf[key], extra_conf[key]) for key in _LIST_KEYS if key in conf and key in extra_conf
        }
        conf = conf | dict(extra_conf) | merged_lists
    return conf


def _merge_lists(left: str, right: str) -> str:
    entries = (entry.strip() for entry in f"{left},{right}".split(","))
    return ",".join(dict.fromkeys(entry for entry in entries if entry))


def use_cached_jars(conf: Mapping[str, str], home: Path | None = None) -> dict[str, str]:
    """Replace packages with their jars in the Ivy cache, because resolving them takes a second or two.

    This works only for packages without dependencies, such as the listener.
    """
    packages = [package for package in conf.get(_PACKAGES, "").split(",") if package]
    home = home or Path.home()
    jars = []
    for package in packages:
        coordinates = package.split(":")
        if len(coordinates) < 3:
            return dict(conf)
        group, artifact, version, *_ = coordinates
        candidates = [home / folder / f"{group}_{artifact}-{version}.jar" for folder in _IVY_FOLDERS]
        jar = next((candidate for candidate in candidates if candidate.exists()), None)
        if jar is None or group != "io.openlineage":
            return dict(conf)
        jars.append(str(jar))
    if not jars:
        return dict(conf)
    other_conf = {key: value for key, value in conf.items() if key != _PACKAGES}
    existing_jars = [jar_name for jar_name in other_conf.get("spark.jars", "").split(",") if jar_name]
    return other_conf | {"spark.jars": ",".join([*existing_jars, *jars])}


def open_session(name: str, conf: Mapping[str, str]) -> "SparkSession":
    """Start Spark in this process, or use the session of the spark-submit that started this process."""
    try:
        import pyspark  # noqa: PLC0415 - an extra that only running a process needs
        from pyspark.sql import SparkSession  # noqa: PLC0415 - as above
    except ImportError as error:
        raise MissingDependency("PySpark is not installed: pip install 'lineage-bridge[process]'") from error
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        os.environ["JAVA_HOME"] = str(find_java(find_release(pyspark.__version__)).home)
    session_conf: dict[str, Any] = {**with_quiet_logging(use_cached_jars(conf))}
    logging.getLogger().addFilter(_is_not_interrupt)
    with _unchanged_interrupt_handler():
        return SparkSession.builder.appName(name).config(map=session_conf).getOrCreate()


def _is_not_interrupt(record: logging.LogRecord) -> bool:
    """Suppress the traceback that Py4J logs if it is interrupted, although it raises the exception again."""
    return not (record.exc_info and record.exc_info[0] and issubclass(record.exc_info[0], KeyboardInterrupt))


@contextmanager
def log_query_errors(file: Path) -> Iterator[None]:
    """Write the errors that PySpark logs with their stack, as JSON, to a file instead of stderr."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(file, encoding="utf-8", delay=True)
    original_handlers: dict[logging.Logger, list[logging.Handler]] = {}
    for logger in _query_loggers():
        original_handlers[logger] = logger.handlers
        handler.setFormatter(next((original.formatter for original in logger.handlers), None))
        logger.handlers = [handler]
    try:
        yield
    finally:
        for logger, handlers in original_handlers.items():
            logger.handlers = handlers
        handler.close()


def _query_loggers() -> list[logging.Logger]:
    """Return the loggers with which PySpark logs errors of queries; Spark 3.5 has none."""
    try:
        from pyspark.logger import PySparkLogger  # noqa: PLC0415 - an extra that only running a process needs
    except ImportError:
        return []
    return [PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]


@contextmanager
def _unchanged_interrupt_handler() -> Iterator[None]:
    """Restore the SIGINT handler that PySpark replaces.

    PySpark's handler calls the JVM on the connection that the interrupted code is reading from, which breaks both
    calls. It is not needed: stopping the session cancels all jobs. The JVM itself ignores SIGINT.
    """
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def with_quiet_logging(conf: Mapping[str, str]) -> dict[str, str]:
    """Make Spark log only warnings and errors, unless a logging configuration is set."""
    java_options = conf.get(_JAVA_OPTIONS, "")
    if "log4j2.configurationFile" in java_options:
        return dict(conf)
    return {**conf, _JAVA_OPTIONS: f"{java_options} -Dlog4j2.configurationFile={_QUIET_LOGGING.as_uri()}".strip()}

"""Finds PySpark and Java, and starts jobs with spark-submit."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from connectors.errors import MissingDependency
from connectors.spark.conf_format import format_defaults
from connectors.spark.releases import SparkRelease, find_release

#: Makes small local jobs fast: no user interface, and not 200 partitions for a few rows.
LOCAL_CONF = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}

_PRINT_PYSPARK = "import os, pyspark; print(pyspark.__version__); print(os.path.dirname(pyspark.__file__))"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_JVM_FOLDERS = ("/usr/lib/jvm", "/Library/Java/JavaVirtualMachines")
_INSTALL_JAVA = "install one (Debian, Ubuntu: apt install openjdk-17-jre-headless), or set JAVA_HOME"
_INSTALL_SPARK = "install the extra: pip install 'lineage-bridge[spark]'"


class SparkInstallation(NamedTuple):
    """An installed PySpark: its Python interpreter, home and version, and the home of the Java that runs it."""

    python: str
    home: Path
    version: str
    java_home: Path
    java_version: int


class JavaInstallation(NamedTuple):
    """A Java: its home and its version, such as 17."""

    home: Path
    version: int


def find_spark(python: str = sys.executable) -> SparkInstallation:
    """Find the PySpark installed for a Python interpreter and a compatible Java.

    Raises MissingDependency with installation instructions.
    """
    result = subprocess.run([python, "-c", _PRINT_PYSPARK], capture_output=True, text=True, check=False)
    if result.returncode:
        raise MissingDependency(f"PySpark is not installed for {python}: {_INSTALL_SPARK}")
    version, home, *_ = result.stdout.split("\n")
    java = find_java(find_release(version))
    return SparkInstallation(python, Path(home), version, java.home, java.version)


def find_java(release: SparkRelease) -> JavaInstallation:
    """Find a working Java that a Spark release supports: in JAVA_HOME, then in PATH, then in the JVM folders.

    Raises MissingDependency with the versions that were found, and with installation instructions.
    """
    unsupported_homes: list[str] = []
    for home in _java_homes():
        result = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, check=False)
        match = _VERSION.search(result.stderr)
        if result.returncode == 0 and match and int(match[1]) in release.java:
            return JavaInstallation(home, int(match[1]))
        if match:
            unsupported_homes.append(f"Java {match[1]} in {home}")
    found = ", ".join(unsupported_homes) or "no Java"
    raise MissingDependency(f"Spark {release.name} requires Java {release.java_text}; found {found}: {_INSTALL_JAVA}")


def _java_homes() -> Iterable[Path]:
    java_home = os.environ.get("JAVA_HOME")
    homes = [Path(java_home)] if java_home else []
    if java := shutil.which("java"):
        homes.append(Path(java).resolve().parent.parent)
    for folder in _JVM_FOLDERS:
        homes += [*sorted(Path(folder).glob("*"), reverse=True), *sorted(Path(folder).glob("*/Contents/Home"))]
    return (home for home in dict.fromkeys(homes) if (home / "bin" / "java").exists())


def submit_job(
    spark: SparkInstallation, script: Path, arguments: Iterable[str], conf: Mapping[str, str], folder: Path, log: Path
) -> "subprocess.Popen[bytes]":
    """Start a job in its own folder; Spark and the job write to the log file."""
    properties = folder / "spark.conf"
    properties.touch(mode=0o600)
    properties.write_text(format_defaults(conf), encoding="utf-8")
    command = [f"{spark.home}/bin/spark-submit", "--properties-file", f"{properties}", f"{script}", *arguments]
    spark_variables = {
        "SPARK_HOME": str(spark.home),
        "JAVA_HOME": str(spark.java_home),
        "PYSPARK_PYTHON": spark.python,
    }
    with log.open("wb") as log_file:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | spark_variables,
            stdin=subprocess.DEVNULL,
            stdout=log_file,
            stderr=log_file,
            start_new_session=True,
        )

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
_SPARK_VERSION = re.compile(r"(?<!Scala )version (\d+\.\d+\S*)")
_SCALA_VERSION = re.compile(r"Scala version (\d+\.\d+)")
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

    @property
    def submit(self) -> Path:
        return self.home / "bin" / "spark-submit"

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables that spark-submit needs."""
        return {"SPARK_HOME": str(self.home), "JAVA_HOME": str(self.java_home), "PYSPARK_PYTHON": self.python}

    @property
    def description(self) -> str:
        return f"PySpark {self.version} and Java {self.java_version}"


class ClusterSubmit(NamedTuple):
    """The spark-submit of a cluster, which finds Spark, Java and Python itself."""

    submit: Path
    version: str
    #: None if spark-submit does not print it.
    scala: str | None
    variables: Mapping[str, str] = {}

    @property
    def description(self) -> str:
        return f"{self.submit} (Spark {self.version})"


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


def find_cluster_submit(submit: Path) -> ClusterSubmit:
    """Determine the versions of a spark-submit. Raises MissingDependency if it cannot print them."""
    executable = Path(shutil.which(submit) or submit.absolute())
    try:
        result = subprocess.run([executable, "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise MissingDependency(f"{submit} cannot be started: {error.strerror}") from error
    output = f"{result.stdout}\n{result.stderr}"
    version, scala = _SPARK_VERSION.search(output), _SCALA_VERSION.search(output)
    if version is None:
        last_line = (output.strip() or "no output").splitlines()[-1]
        raise MissingDependency(f"{submit} --version prints no Spark version: {last_line}")
    return ClusterSubmit(executable, version[1], scala[1] if scala else None)


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
    spark: SparkInstallation | ClusterSubmit,
    script: Path,
    arguments: Iterable[str],
    conf: Mapping[str, str],
    folder: Path,
    log: Path,
) -> "subprocess.Popen[bytes]":
    """Start a job in its own folder; Spark and the job write to the log file."""
    properties = folder / "spark.conf"
    properties.touch(mode=0o600)
    properties.write_text(format_defaults(conf), encoding="utf-8")
    command = [f"{spark.submit}", "--properties-file", f"{properties}", f"{script}", *arguments]
    with log.open("wb") as log_file:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | dict(spark.variables),
            stdin=subprocess.DEVNULL,
            stdout=log_file,
            stderr=log_file,
            start_new_session=True,
        )

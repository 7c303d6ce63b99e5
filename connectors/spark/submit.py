"""Running a Spark job: the PySpark and the Java that are there, and `spark-submit` with a conf of its own."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from connectors.errors import MissingDependency
from connectors.spark.conf_format import write_defaults
from connectors.spark.releases import find_release

#: What makes a small job on this machine quick: no user interface, and no two hundred partitions for a few rows.
LOCAL_CONF = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}

_ASK = "import os, pyspark; print(pyspark.__version__); print(os.path.dirname(pyspark.__file__))"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_JVM_FOLDERS = ("/usr/lib/jvm", "/Library/Java/JavaVirtualMachines")
_INSTALL_JAVA = "install a JDK 17 or newer (Debian, Ubuntu: apt install openjdk-17-jre-headless) or set JAVA_HOME"
_INSTALL_SPARK = "install the extra: pip install 'lineage-bridge[spark]'"


class SparkInstallation(NamedTuple):
    """An installed PySpark: its Python, its home, its version, and the Java it will run on."""

    python: str
    home: Path
    version: str
    java_home: Path


def find_spark(python: str = sys.executable) -> SparkInstallation:
    """Find the PySpark of a Python and a Java for it; raises MissingPart with the remedy."""
    asked = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, check=False)
    if asked.returncode:
        raise MissingDependency(f"{python} has no PySpark: {_INSTALL_SPARK}")
    version, home = asked.stdout.split("\n")[:2]
    return SparkInstallation(python, Path(home), version, find_java(find_release(version).oldest_java))


def find_java(oldest: int = 17) -> Path:
    """Find the home of a Java that runs and is new enough; raises MissingPart with the remedy."""
    old: list[str] = []
    for home in _java_homes():
        asked = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, check=False)
        found = _VERSION.search(asked.stderr)
        if asked.returncode == 0 and found and int(found[1]) >= oldest:
            return home
        if found:
            old.append(f"{home} is Java {found[1]}")
    raise MissingDependency(f"no Java {oldest} or newer ({'; '.join(old) or 'none at all'}): {_INSTALL_JAVA}")


def _java_homes() -> Iterable[Path]:
    named = os.environ.get("JAVA_HOME")
    places = [Path(named)] if named else []
    if found := shutil.which("java"):
        places.append(Path(found).resolve().parent.parent)
    for folder in _JVM_FOLDERS:
        places += [*sorted(Path(folder).glob("*"), reverse=True), *sorted(Path(folder).glob("*/Contents/Home"))]
    return (place for place in dict.fromkeys(places) if (place / "bin" / "java").exists())


def submit_job(
    spark: SparkInstallation, script: Path, words: Iterable[str], conf: Mapping[str, str], folder: Path, log: Path
) -> "subprocess.Popen[bytes]":
    """Start a job in a folder of its own; all that Spark and the job say goes to the log."""
    properties = folder / "spark.conf"
    properties.touch(mode=0o600)
    properties.write_text(write_defaults(conf), encoding="utf-8")
    command = [f"{spark.home}/bin/spark-submit", "--properties-file", f"{properties}", f"{script}", *words]
    ours = {"SPARK_HOME": str(spark.home), "JAVA_HOME": str(spark.java_home), "PYSPARK_PYTHON": spark.python}
    with log.open("wb") as said:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | ours,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )

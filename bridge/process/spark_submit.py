"""Builds the spark-submit command of a process."""

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from bridge.process.launcher import LaunchOptions, spark_version
from connectors.spark.conf import PREFIX
from connectors.spark.session import use_cached_jars, with_quiet_logging
from connectors.spark.submit import find_spark

_DRIVER = Path(__file__).parents[1] / "cli" / "driver.py"
#: A command may be started again and again: each run draws its id, and makes the conf of it, where it runs.
_OF_ONE_RUN = (f"{PREFIX}parentRunId", f"{PREFIX}transport.location")


def submit_command(
    launch: LaunchOptions, words: Sequence[str], extra: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """Give the command and the variables that it needs; `words` are for the process, `extra` for spark-submit."""
    installed = shutil.which("spark-submit")
    variables = {"PYSPARK_PYTHON": sys.executable}
    if installed is None:
        spark = find_spark()
        installed = str(spark.home / "bin" / "spark-submit")
        variables |= {"SPARK_HOME": str(spark.home), "JAVA_HOME": str(spark.java_home)}
    conf = with_quiet_logging(use_cached_jars(launch.spark_conf(spark_version())))
    for key in _OF_ONE_RUN:
        conf.pop(key, None)
    master = conf.pop("spark.master", None)
    command = [installed, *(["--master", master] if master else []), *extra]
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    return [*command, str(_DRIVER), str(launch.wanted.file), *words], variables


def format_shell_command(command: Sequence[str], variables: dict[str, str]) -> str:
    """Write a command for a shell, an option with its value a line."""
    lines = [" ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())]
    for word in map(shlex.quote, command):
        alone = lines[-1].startswith("--") and " " not in lines[-1]
        if alone and not word.startswith("--"):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return " \\\n  ".join(lines)

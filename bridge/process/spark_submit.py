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

_DRIVER = Path(__file__).parents[1] / "cli" / "spark_driver.py"
#: Settings that each run generates; they are omitted because the command can be repeated.
_PER_RUN_KEYS = (f"{PREFIX}parentRunId", f"{PREFIX}transport.location")


def submit_command(
    options: LaunchOptions, arguments: Sequence[str], submit_options: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """Return the command and its environment. `arguments` go to the process, `submit_options` to spark-submit."""
    executable = shutil.which("spark-submit")
    variables = {"PYSPARK_PYTHON": sys.executable}
    if executable is None:
        spark = find_spark()
        executable = str(spark.home / "bin" / "spark-submit")
        variables |= {"SPARK_HOME": str(spark.home), "JAVA_HOME": str(spark.java_home)}
    conf = with_quiet_logging(use_cached_jars(options.spark_conf(spark_version())))
    for key in _PER_RUN_KEYS:
        conf.pop(key, None)
    master = conf.pop("spark.master", None)
    command = [executable]
    if master:
        command += ["--master", master]
    command += submit_options
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    return [*command, str(_DRIVER), str(options.request.file), *arguments], variables


def format_shell_command(command: Sequence[str], variables: dict[str, str]) -> str:
    """Format a command for a shell, one option with its value per line."""
    assignments = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    lines = [" ".join(assignments)]
    for word in map(shlex.quote, command):
        is_option_without_value = lines[-1].startswith("--") and " " not in lines[-1]
        if is_option_without_value and not word.startswith("--"):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return " \\\n  ".join(lines)

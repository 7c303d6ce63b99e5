"""The command that starts a process with spark-submit: a shell takes it apart into the same words."""

import json
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from bridge.cli.process_run import parse_key_values
from bridge.process.launcher import LaunchOptions
from bridge.process.spark_submit import format_shell_command, submit_command
from tests.process.process_lake import Workshop

pytestmark = pytest.mark.system("java", "spark")

TEXT = "inputs: [{dataset: raw, as: raw}]\noutputs: [{dataset: d, from: raw%s}]\n"
SAY = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['PYSPARK_PYTHON']]))"
WORDS = [
    "--param",
    "day=2026-01-31",
    "--param",
    'it\'s=a "b" $HOME `x` \\ *\n',
    "--rerun",
    "--lake",
    "/la ke",
    "--key",
    "",
]


def launch_of(workshop: Workshop, more: str = "", **conf: str) -> LaunchOptions:
    return LaunchOptions(workshop.wanted(TEXT % more), workshop.folder / "work", conf)


def conf_of(command: list[str]) -> dict[str, str]:
    return parse_key_values([after for word, after in pairwise(command) if word == "--conf"], "--conf")


def test_what_is_printed_is_parsed_back(workshop: Workshop) -> None:
    given = {"spark.master": "local[2]", "spark.x": "a b; rm -rf $HOME", "spark.driver.extraJavaOptions": "-Da='b'"}
    command, variables = submit_command(launch_of(workshop, **given), WORDS, ["--deploy-mode", "client", "--verbose"])
    printed = format_shell_command(command, variables)
    set_, words = [f"{name}={value}" for name, value in variables.items()], command
    assert shlex.split(printed.replace(" \\\n  ", " ")) == [*set_, *words]
    conf = conf_of(command)
    assert (conf["spark.x"], command[1:6]) == (
        given["spark.x"],
        ["--master", "local[2]", "--deploy-mode", "client", "--verbose"],
    )
    assert conf["spark.driver.extraJavaOptions"].startswith("-Da='b' -Dlog4j2")
    assert "spark.master" not in conf


def test_a_real_shell_gives_the_same_words() -> None:
    printed = format_shell_command([sys.executable, "-c", SAY, *WORDS], {"PYSPARK_PYTHON": "/a b/python"})
    said = subprocess.run(["sh", "-c", printed], capture_output=True, check=True, text=True).stdout
    assert json.loads(said) == [WORDS, "/a b/python"]
    assert "  --param day=2026-01-31 \\\n" in printed, "an option and its value are a line"


def test_a_command_may_be_started_twice_each_run_is_one_of_its_own(workshop: Workshop) -> None:
    launch = launch_of(workshop)
    command, _ = submit_command(launch, ["--rerun"], [])
    assert not [word for word in command if launch.request.run_id in word]
    assert command[-2:] == [str(launch.request.file), "--rerun"]
    assert Path(command[-3]).name == "spark_driver.py"


def test_tables_come_with_their_packages(workshop: Workshop) -> None:
    conf = conf_of(submit_command(launch_of(workshop, ", format: delta"), [], [])[0])
    assert [one.split(":")[0] for one in conf["spark.jars.packages"].split(",")] == ["io.openlineage", "io.delta"]


def test_a_table_of_iceberg_lies_in_the_warehouse_that_its_namespace_names(workshop: Workshop) -> None:
    more = ", format: iceberg, namespace: 's3a://lake/warehouse'"
    conf = launch_of(workshop, more).spark_conf("4.1.4")
    assert conf["spark.sql.catalog.lake.warehouse"] == "s3a://lake/warehouse"
    other = launch_of(workshop, more)._replace(conf={"spark.sql.catalog.lake.warehouse": "/w"})
    assert other.spark_conf("4.1.4")["spark.sql.catalog.lake.warehouse"] == "/w"

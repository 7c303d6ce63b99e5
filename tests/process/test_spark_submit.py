"""The spark-submit command of a process, and its shell quoting."""

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
from tests.process.process_lake import ProcessHarness

pytestmark = pytest.mark.system("java", "spark")

TEXT = "inputs: [{dataset: raw, as: raw}]\noutputs: [{dataset: d, from: raw%s}]\n"
PRINT_ARGUMENTS = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['PYSPARK_PYTHON']]))"
ARGUMENTS = [
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


def make_launch(harness: ProcessHarness, output_options: str = "", **conf: str) -> LaunchOptions:
    return LaunchOptions(harness.make_request(TEXT % output_options), harness.folder / "work", conf)


def parse_conf(command: list[str]) -> dict[str, str]:
    return parse_key_values([value for option, value in pairwise(command) if option == "--conf"], "--conf")


def test_printed_command_can_be_parsed(harness: ProcessHarness) -> None:
    conf_settings = {
        "spark.master": "local[2]",
        "spark.x": "a b; rm -rf $HOME",
        "spark.driver.extraJavaOptions": "-Da='b'",
    }
    command, variables = submit_command(
        make_launch(harness, **conf_settings), ARGUMENTS, ["--deploy-mode", "client", "--verbose"]
    )
    printed = format_shell_command(command, variables)
    assignments, arguments = [f"{name}={value}" for name, value in variables.items()], command
    assert shlex.split(printed.replace(" \\\n  ", " ")) == [*assignments, *arguments]
    conf = parse_conf(command)
    assert (conf["spark.x"], command[1:6]) == (
        conf_settings["spark.x"],
        ["--master", "local[2]", "--deploy-mode", "client", "--verbose"],
    )
    assert conf["spark.driver.extraJavaOptions"].startswith("-Da='b' -Dlog4j2")
    assert "spark.master" not in conf


def test_shell_parses_same_arguments() -> None:
    printed = format_shell_command(
        [sys.executable, "-c", PRINT_ARGUMENTS, *ARGUMENTS], {"PYSPARK_PYTHON": "/a b/python"}
    )
    output = subprocess.run(["sh", "-c", printed], capture_output=True, check=True, text=True).stdout
    assert json.loads(output) == [ARGUMENTS, "/a b/python"]
    assert "  --param day=2026-01-31 \\\n" in printed, "an option and its value are on one line"


def test_command_contains_no_run_id(harness: ProcessHarness) -> None:
    launch = make_launch(harness)
    command, _ = submit_command(launch, ["--rerun"], [])
    assert not [argument for argument in command if launch.request.run_id in argument]
    assert command[-2:] == [str(launch.request.file), "--rerun"]
    assert Path(command[-3]).name == "spark_driver.py"


def test_conf_contains_packages_of_formats(harness: ProcessHarness) -> None:
    conf = parse_conf(submit_command(make_launch(harness, ", format: delta"), [], [])[0])
    assert [package.split(":")[0] for package in conf["spark.jars.packages"].split(",")] == [
        "io.openlineage",
        "io.delta",
    ]


def test_iceberg_warehouse_is_namespace_of_output(harness: ProcessHarness) -> None:
    output_options = ", format: iceberg, namespace: 's3a://lake/warehouse'"
    conf = make_launch(harness, output_options).spark_conf("4.1.4")
    assert conf["spark.sql.catalog.lake.warehouse"] == "s3a://lake/warehouse"
    with_warehouse = make_launch(harness, output_options)._replace(conf={"spark.sql.catalog.lake.warehouse": "/w"})
    assert with_warehouse.spark_conf("4.1.4")["spark.sql.catalog.lake.warehouse"] == "/w"

"""Runs Spark jobs with `spark-submit` and the conf of `lineage-bridge spark conf`."""

import json
import os
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from connectors.spark.conf import ConfOptions, build_conf
from connectors.spark.releases import SparkRelease, find_release
from connectors.spark.submit import LOCAL_CONF, SparkInstallation, find_spark, submit_job

JOBS = Path(__file__).parent / "jobs"
JOB_SECONDS = 200
POSTGRES_DRIVER = "org.postgresql:postgresql:42.7.8"

ORDERS = "id,customer,amount,note\n1,1,10.0,a\n2,1,25.0,b\n3,2,0.0,c\n4,3,99.0,d\n"
CUSTOMERS = (
    {"id": 1, "name": "Ada", "email": "ada@example.com", "region": "north"},
    {"id": 2, "name": "Bob", "email": "bob@example.com", "region": "south"},
    {"id": 3, "name": "Cyd", "email": "cyd@example.com", "region": "north"},
)


class JobResult(NamedTuple):
    """Exit code and complete output of a job."""

    code: int
    log: str


@cache
def spark_under_test() -> SparkInstallation:
    """The pinned Spark, or that of the Python in SPARK_MATRIX_PYTHON."""
    python = os.environ.get("SPARK_MATRIX_PYTHON")
    return find_spark(python) if python else find_spark()


def release_under_test() -> SparkRelease:
    return find_release(spark_under_test().version)


def make_inputs(base: Path) -> None:
    """Write the inputs of the jobs: four orders, three customers."""
    (base / "in" / "customers").mkdir(parents=True)
    (base / "in" / "orders.csv").write_text(ORDERS)
    lines = "".join(json.dumps(customer) + "\n" for customer in CUSTOMERS)
    (base / "in" / "customers" / "part.json").write_text(lines)


def start_job(
    base: Path, name: str, *arguments: str, options: ConfOptions, conf: Mapping[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    """Start a job on the inputs under `base`."""
    local = {"spark.sql.warehouse.dir": str(base / "warehouse"), "spark.local.dir": str(base / "tmp")}
    spark_conf = build_conf(options)
    extra_conf = dict(conf or {})
    if packages := extra_conf.pop("spark.jars.packages", None):
        spark_conf["spark.jars.packages"] += f",{packages}"
    return submit_job(
        spark_under_test(),
        JOBS / f"{name}.py",
        [str(base), *arguments],
        spark_conf | LOCAL_CONF | local | extra_conf,
        base,
        base / f"{name}.log",
    )


def end_job(base: Path, name: str, process: "subprocess.Popen[bytes]") -> JobResult:
    try:
        code = process.wait(JOB_SECONDS)
    finally:
        process.kill()
        process.wait()
    return JobResult(code, (base / f"{name}.log").read_text(errors="replace"))


def run_job(
    base: Path, name: str, *arguments: str, options: ConfOptions, conf: Mapping[str, str] | None = None
) -> JobResult:
    return end_job(base, name, start_job(base, name, *arguments, options=options, conf=conf))

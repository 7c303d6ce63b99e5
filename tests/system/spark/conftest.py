"""Downloads the packages of the jobs once, in one process: the Ivy cache does not support concurrent writers."""

import fcntl
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from connectors.errors import MissingDependency
from connectors.spark.submit import submit_job
from tests.system.spark.job import JOBS, POSTGRES_DRIVER, release_under_test, spark_under_test

_FETCH_SECONDS = 280


@pytest.fixture(scope="session", autouse=True)
def _packages(tmp_path_factory: pytest.TempPathFactory) -> None:
    try:
        spark = spark_under_test()
    except MissingDependency:
        return  # each test skips itself
    release = release_under_test()
    packages = [package for package in (release.listener, release.iceberg, release.delta, POSTGRES_DRIVER) if package]
    with (Path(tempfile.gettempdir()) / "lineage-bridge-packages.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _fetched(packages):
            return
        folder = tmp_path_factory.mktemp("packages")
        log = folder / "fetch.log"
        process = submit_job(spark, JOBS / "no_op.py", [], {"spark.jars.packages": ",".join(packages)}, folder, log)
        try:
            code = process.wait(_FETCH_SECONDS)
        finally:
            process.kill()
            process.wait()
        assert code == 0, log.read_text(errors="replace")[-4000:]


def _fetched(packages: Iterable[str]) -> bool:
    names = ["{}_{}-{}.jar".format(*package.split(":")) for package in packages]
    return any(all((jars / name).exists() for name in names) for jars in Path.home().glob(".ivy2*/jars"))

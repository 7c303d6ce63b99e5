"""`lineage-bridge spark`: the service URL, spark-submit of a cluster, and Scala versions."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bridge.cli.main import app
from connectors.errors import ConfigError, MissingDependency
from connectors.spark.releases import find_release
from connectors.spark.submit import find_cluster_submit

VERSION_TEXT = "      /_/   version 3.5.1\nUsing Scala version 2.13.8, OpenJDK 64-Bit Server VM, 11.0.22"
#: Port of the discard service: nothing listens there.
UNUSED_PORT = {"LINEAGE_BRIDGE__SERVER__PORT": "9"}


def make_submit(folder: Path, version_text: str = VERSION_TEXT) -> Path:
    """A spark-submit that prints its version, and creates the file `started` for anything else."""
    submit = folder / "spark-submit"
    submit.write_text(
        f"#!/bin/sh\n[ \"$1\" = --version ] || touch {folder}/started\ncat >&2 <<'END'\n{version_text}\nEND\n",
        encoding="utf-8",
    )
    submit.chmod(0o755)
    return submit


@pytest.mark.parametrize(
    ("settings", "options", "url"),
    [
        ({"PORT": "9123"}, [], "http://127.0.0.1:9123"),
        ({"PORT": "9123", "PUBLIC_URL": "https://bridge.example.com"}, [], "https://bridge.example.com"),
        ({"HOST": "::1"}, [], "http://[::1]:8090"),
        ({"PORT": "9123"}, ["--url", "http://other:1"], "http://other:1"),
    ],
)
def test_conf_contains_url_of_configured_service(settings: dict[str, str], options: list[str], url: str) -> None:
    env = {f"LINEAGE_BRIDGE__SERVER__{name}": value for name, value in settings.items()}
    result = CliRunner().invoke(app, ["spark", "conf", *options], env=env, catch_exceptions=False)
    assert f"spark.openlineage.transport.url {url}\n" in result.stdout


def test_check_starts_no_job_without_service(tmp_path: Path) -> None:
    submit = make_submit(tmp_path)
    result = CliRunner().invoke(app, ["spark", "check", "--submit", str(submit)], env=UNUSED_PORT)
    assert (result.exit_code, (tmp_path / "started").exists()) == (1, False)
    assert "transport.url points to a service that is not running" in result.stdout
    assert result.stderr.startswith("contacting http://127.0.0.1:")
    assert result.stdout.endswith("1 problem to fix; no job was run\n")


def test_check_uses_submit_of_cluster(tmp_path: Path) -> None:
    conf = tmp_path / "spark-defaults.conf"
    transport = ["--transport", "file", "--location", f"{tmp_path}/events.ndjson"]
    release = ["--spark-version", "3.5", "--scala", "2.13"]
    CliRunner().invoke(app, ["spark", "conf", *transport, *release, "--write", str(conf)], catch_exceptions=False)
    result = CliRunner().invoke(app, ["spark", "check", "--submit", str(make_submit(tmp_path)), str(conf)])
    assert (tmp_path / "started").exists()
    assert f"running a job with {tmp_path}/spark-submit (Spark 3.5.1)" in result.output
    assert "Scala" not in result.stdout, "the packages match the Scala version of the cluster"


def test_versions_of_cluster_submit(tmp_path: Path) -> None:
    submit = find_cluster_submit(make_submit(tmp_path))
    assert (submit.version, submit.scala) == ("3.5.1", "2.13")


def test_submit_without_version_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(MissingDependency, match="prints no Spark version: JAVA_HOME is not set"):
        find_cluster_submit(make_submit(tmp_path, "JAVA_HOME is not set"))
    with pytest.raises(MissingDependency, match="cannot be started: No such file or directory"):
        find_cluster_submit(tmp_path / "missing")


def test_packages_for_scala_build() -> None:
    release = find_release("3.5.1", "2.13")
    assert [release.listener, release.iceberg, release.delta] == [
        "io.openlineage:openlineage-spark_2.13:1.53.0",
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.13:1.12.0",
        "io.delta:delta-spark_2.13:3.3.3",
    ]
    with pytest.raises(ConfigError, match=r"Spark 4\.1 has no build for Scala 2\.12: use Scala 2\.13"):
        find_release("4.1", "2.12")

"""`lineage-bridge spark check` with the real listener: delivered events and reported problems."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from connectors.spark.conf import PREFIX, ConfOptions, ListenerTransport, build_conf
from connectors.spark.conf_format import format_defaults
from connectors.spark.releases import LISTENER_VERSION, find_release
from connectors.spark.submit import find_spark
from tests.system.service import Service, finish, new_store, start, stored_payloads

pytestmark = [pytest.mark.system("java", "spark"), pytest.mark.timeout(300)]

#: Port of the discard service: nothing listens there.
UNREACHABLE_URL = "http://127.0.0.1:9"
KEYS = {"s3cret-sender": "ingest", "s3cret-reader": "read"}
URL = f"{PREFIX}transport.url"
KEY = f"{PREFIX}transport.auth.apiKey"
_COUNTS = re.compile(r"^events: (\d+) created(.*)$", re.MULTILINE)


class CheckResult(NamedTuple):
    code: int
    output: str

    @property
    def counts(self) -> list[int]:
        """Number of created events, and of events that arrived at each transport."""
        match = _COUNTS.search(self.output)
        assert match, self.output
        return [int(match[1]), *map(int, re.findall(r", (\d+) arrived at spark\.", match[2]))]


def make_conf(**choices: object) -> dict[str, str]:
    return build_conf(ConfOptions(find_release(find_spark().version))._replace(**choices))


def check(folder: Path, conf: Mapping[str, str], *arguments: str) -> CheckResult:
    path = folder / "spark-defaults.conf"
    path.write_text(format_defaults(conf))
    return CheckResult(*finish(start(folder / "unused", "spark", "check", str(path), *arguments), seconds=280))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return new_store(tmp_path)


@pytest.fixture
def service(store: Path) -> Iterator[str]:
    """URL of a service that requires keys."""
    keys = [{"name": key, "sha256": hashlib.sha256(key.encode()).hexdigest(), "scopes": [scope]}
            for key, scope in KEYS.items()]  # fmt: skip
    with Service(store, SERVER__API_KEYS=json.dumps(keys)) as running:
        yield f"http://127.0.0.1:{running.port}"


def test_valid_conf_with_http_and_file_transport(tmp_path: Path, store: Path, service: str) -> None:
    spool = tmp_path / "made by the listener" / "events.ndjson"
    choices = {
        "transport": ListenerTransport.composite,
        "location": str(spool),
        "url": service,
        "api_key": "s3cret-sender",
    }
    result = check(
        tmp_path, make_conf(**choices) | {"spark.log.level": "ERROR"}, "--spark-log", str(tmp_path / "log")
    )
    assert result.code == 0, result.output
    assert result.output.endswith("no problems found\n")
    count = len(stored_payloads(store))
    assert result.counts == [count] * 3
    assert count == len(spool.read_text().splitlines()) > 0
    assert "s3cret" not in result.output
    assert "Emitting lineage completed successfully" in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("s3cret-nobody", "was rejected with 401: the key is missing or unknown"),
        ("s3cret-reader", "was rejected with 403: the key may not send events"),
    ],
)
def test_key_without_permission_to_send(tmp_path: Path, store: Path, service: str, key: str, problem: str) -> None:
    result = check(tmp_path, make_conf(url=service, api_key=key))
    assert result.code == 1
    assert f"error: {KEY} {problem}; events are lost: create one with `lineage-bridge keys create" in result.output
    assert "\n1 problem to fix" in result.output
    assert result.counts[0] > result.counts[1] == len(stored_payloads(store)) == 0
    assert "s3cret" not in result.output


def test_unreachable_service_with_file_transport(tmp_path: Path) -> None:
    spool = tmp_path / "events.ndjson"
    spool.write_text('{"run": {"runId": "of another job"}}\n')
    result = check(
        tmp_path, make_conf(transport=ListenerTransport.composite, location=str(spool), url=UNREACHABLE_URL)
    )
    assert result.code == 1
    expected = f"error: {PREFIX}transport.transports.b_http.url points to a service that is not running; events are lost: start"
    assert result.output.count(expected) == 1
    assert f"error: {PREFIX}transport.transports.a_file" not in result.output
    count = len(spool.read_text().splitlines()) - 1
    assert result.counts == [count, count, 0]
    assert count > 0


@pytest.mark.parametrize(
    ("change", "expected", "counts"),
    [
        ({f"{PREFIX}namespce": "x"}, [f"{PREFIX}namespce is not a listener key", f"did you mean {PREFIX}namespace?"], None),
        ({f"{PREFIX}filter.rddEventsDisabled": "yes"},
         [f"{PREFIX}filter.rddEventsDisabled is neither true nor false", "cannot be parsed by the listener"], [0, 0]),
    ],
    ids=["unknown key", "value that stops the listener"],
)  # fmt: skip
def test_invalid_conf(tmp_path: Path, change: dict[str, str], expected: list[str], counts: list[int] | None) -> None:
    spool = tmp_path / "events.ndjson"
    result = check(tmp_path, make_conf(transport=ListenerTransport.file, location=str(spool)) | change)
    assert result.code == 1
    assert [text for text in expected if text not in result.output] == []
    assert result.counts == (counts or [len(spool.read_text().splitlines())] * 2)


@pytest.mark.parametrize(
    ("package", "expected"),
    [
        ("io.openlineage:openlineage-spark_2.13:0.0.9",
         "spark.jars.packages contains a package that no repository has: io.openlineage#openlineage-spark_2.13;0.0.9"),
        ("org.slf4j:slf4j-api:2.0.17",
         "spark.extraListeners contains io.openlineage.spark.agent.OpenLineageSparkListener, which no jar has"),
    ],
    ids=["no such release", "no listener"],
)  # fmt: skip
def test_packages_without_listener(tmp_path: Path, package: str, expected: str) -> None:
    conf = make_conf(transport=ListenerTransport.file, location=str(tmp_path / "events.ndjson")) | {
        "spark.jars.packages": package
    }
    result = check(tmp_path, conf)
    assert (result.code, result.counts) == (1, [0, 0])
    assert expected in result.output


def test_job_is_stopped_after_timeout(tmp_path: Path) -> None:
    conf = make_conf(transport=ListenerTransport.file, location=str(tmp_path / "events.ndjson"))
    result = check(tmp_path, conf, "--timeout", "1")
    assert result.code == 1
    assert "error: the job did not end within 1 s; events are lost: raise --timeout" in result.output


def test_conf_for_other_spark_release_needs_no_job(tmp_path: Path) -> None:
    installed = find_release(find_spark().version)
    other_release = "3.5" if installed.name != "3.5" else "4.1"
    with_job = check(tmp_path, make_conf(), "--spark-version", other_release)
    assert with_job.code == 2
    assert f"cannot run a job on {other_release}: use --no-job" in with_job.output
    without_job = check(
        tmp_path, make_conf(release=find_release(other_release)), "--spark-version", other_release, "--no-job"
    )
    assert without_job == (0, "no problems in the configuration (service and job not tested)\n")
    assert f"openlineage-spark_{installed.scala}:{LISTENER_VERSION}" in make_conf()["spark.jars.packages"]

"""`lineage-bridge spark check` with the real listener: what arrives, and why it does not."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from connectors.spark.conf import PREFIX, ConfOptions, ListenerTransport, build_conf
from connectors.spark.conf_format import write_defaults
from connectors.spark.releases import LISTENER_VERSION, find_release
from connectors.spark.submit import find_spark
from tests.system.service import Service, finish, new_store, start, stored_payloads

pytestmark = [pytest.mark.system("java", "spark"), pytest.mark.timeout(300)]

#: Nobody listens on the port of the discard service.
NOBODY = "http://127.0.0.1:9"
KEYS = {"s3cret-sender": "ingest", "s3cret-reader": "read"}
URL = f"{PREFIX}transport.url"
KEY = f"{PREFIX}transport.auth.apiKey"
_COUNTS = re.compile(r"^events: (\d+) created(.*)$", re.MULTILINE)


class Checked(NamedTuple):
    code: int
    said: str

    @property
    def counts(self) -> list[int]:
        """Give how many events were made, and how many arrived at each place."""
        found = _COUNTS.search(self.said)
        assert found, self.said
        return [int(found[1]), *map(int, re.findall(r", (\d+) arrived at spark\.", found[2]))]


def made(**choices: object) -> dict[str, str]:
    return build_conf(ConfOptions(find_release(find_spark().version))._replace(**choices))


def check(folder: Path, conf: Mapping[str, str], *words: str) -> Checked:
    path = folder / "spark-defaults.conf"
    path.write_text(write_defaults(conf))
    return Checked(*finish(start(folder / "unused", "spark", "check", str(path), *words), seconds=280))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return new_store(tmp_path)


@pytest.fixture
def service(store: Path) -> Iterator[str]:
    """Give the address of a service that wants keys."""
    keys = [{"name": key, "sha256": hashlib.sha256(key.encode()).hexdigest(), "scopes": [scope]}
            for key, scope in KEYS.items()]  # fmt: skip
    with Service(store, SERVER__API_KEYS=json.dumps(keys)) as running:
        yield f"http://127.0.0.1:{running.port}"


def test_a_good_conf_over_http_and_into_a_file(tmp_path: Path, store: Path, service: str) -> None:
    spool = tmp_path / "made by the listener" / "events.ndjson"
    choices = {
        "transport": ListenerTransport.composite,
        "location": str(spool),
        "url": service,
        "api_key": "s3cret-sender",
    }
    done = check(tmp_path, made(**choices) | {"spark.log.level": "ERROR"}, "--spark-log", str(tmp_path / "log"))
    assert done.code == 0, done.said
    assert done.said.endswith("no problems found\n")
    count = len(stored_payloads(store))
    assert done.counts == [count] * 3
    assert count == len(spool.read_text().splitlines()) > 0
    assert "s3cret" not in done.said
    assert "Emitting lineage completed successfully" in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("s3cret-nobody", "was rejected with 401: the key is missing or unknown"),
        ("s3cret-reader", "was rejected with 403: the key may not send events"),
    ],
)
def test_a_key_that_may_not_send(tmp_path: Path, store: Path, service: str, key: str, problem: str) -> None:
    done = check(tmp_path, made(url=service, api_key=key))
    assert done.code == 1
    assert f"error: {KEY} {problem}; events are lost: make one with `lineage-bridge keys create" in done.said
    assert "\n1 problem(s) to fix" in done.said
    assert done.counts[0] > done.counts[1] == len(stored_payloads(store)) == 0
    assert "s3cret" not in done.said


def test_nobody_answers_and_the_file_has_all(tmp_path: Path) -> None:
    spool = tmp_path / "events.ndjson"
    spool.write_text('{"run": {"runId": "of another job"}}\n')
    done = check(tmp_path, made(transport=ListenerTransport.composite, location=str(spool), url=NOBODY))
    assert done.code == 1
    told = f"error: {PREFIX}transport.transports.b_http.url points to a service that is not running; events are lost: start"
    assert done.said.count(told) == 1
    assert f"error: {PREFIX}transport.transports.a_file" not in done.said
    count = len(spool.read_text().splitlines()) - 1
    assert done.counts == [count, count, 0]
    assert count > 0


@pytest.mark.parametrize(
    ("change", "told", "counts"),
    [
        ({f"{PREFIX}namespce": "x"}, [f"{PREFIX}namespce is no key", f"did you mean {PREFIX}namespace?"], None),
        ({f"{PREFIX}filter.rddEventsDisabled": "yes"},
         [f"{PREFIX}filter.rddEventsDisabled is neither true nor false", "cannot be parsed by the listener"], [0, 0]),
    ],
    ids=["a key that nobody knows", "a value that ends the listener"],
)  # fmt: skip
def test_a_mistyped_conf(tmp_path: Path, change: dict[str, str], told: list[str], counts: list[int] | None) -> None:
    spool = tmp_path / "events.ndjson"
    done = check(tmp_path, made(transport=ListenerTransport.file, location=str(spool)) | change)
    assert done.code == 1
    assert [text for text in told if text not in done.said] == []
    assert done.counts == (counts or [len(spool.read_text().splitlines())] * 2)


@pytest.mark.parametrize(
    ("package", "told"),
    [
        ("io.openlineage:openlineage-spark_2.13:0.0.9",
         "spark.jars.packages names what no repository has: io.openlineage#openlineage-spark_2.13;0.0.9"),
        ("org.slf4j:slf4j-api:2.0.17",
         "spark.extraListeners names io.openlineage.spark.agent.OpenLineageSparkListener, which is in no jar"),
    ],
    ids=["no such release", "no listener"],
)  # fmt: skip
def test_packages_without_the_listener(tmp_path: Path, package: str, told: str) -> None:
    conf = made(transport=ListenerTransport.file, location=str(tmp_path / "events.ndjson")) | {
        "spark.jars.packages": package
    }
    done = check(tmp_path, conf)
    assert (done.code, done.counts) == (1, [0, 0])
    assert told in done.said


def test_a_job_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    conf = made(transport=ListenerTransport.file, location=str(tmp_path / "events.ndjson"))
    done = check(tmp_path, conf, "--timeout", "1")
    assert done.code == 1
    assert "error: the job did not end within 1 s; events are lost: give it more with --timeout" in done.said


def test_a_conf_for_another_line_is_only_looked_at(tmp_path: Path) -> None:
    here = find_release(find_spark().version)
    other = "3.5" if here.name != "3.5" else "4.1"
    refused = check(tmp_path, made(), "--spark-version", other)
    assert refused.code == 2
    assert f"cannot run a job on {other}: use --no-job" in refused.said
    looked = check(tmp_path, made(release=find_release(other)), "--spark-version", other, "--no-job")
    assert looked == (0, "no problems in the configuration (service and job not tested)\n")
    assert f"openlineage-spark_{here.scala}:{LISTENER_VERSION}" in made()["spark.jars.packages"]

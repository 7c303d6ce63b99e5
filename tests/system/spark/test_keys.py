"""The catalogue of keys against the listener's own parser: what we call known, fatal and ignored, it is."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from connectors.spark.check import check_conf
from connectors.spark.conf import LISTENER_CLASS, PREFIX
from connectors.spark.findings import Effect
from connectors.spark.keys import UNPARSED, Kind, Value, known_keys
from connectors.spark.lines import find_line
from connectors.spark.lookup import holders
from connectors.spark.submit import find_spark, start

pytestmark = [pytest.mark.system("java", "spark"), pytest.mark.timeout(300)]

Conf = dict[str, str]

GOOD = {
    Kind.anything: ["x7"],
    Kind.text: ["x7"],
    Kind.boolean: ["true", "FALSE"],
    Kind.switch: ["true", "false"],
    Kind.integer: ["7"],
    Kind.url: ["http://h7:7"],
    Kind.uuid: ["01234567-89ab-7def-8123-456789abcdef"],
    Kind.several: ["[a7;b7]"],
}
#: A parent as a scheduler hands it over, in one piece.
CONTEXT = {"parent": {"run": {"runId": GOOD[Kind.uuid][0]}, "job": {"namespace": "n", "name": "m"}}}
FATAL = {
    Kind.text: "[x]",
    Kind.boolean: "yes",
    Kind.integer: "7.5",
    Kind.several: "x",
    Kind.choice: "no_such_choice",
    Kind.exact_choice: "no_such_choice",
}
HTTP = {"transport.type": "http", "transport.url": "http://h:1"}
JWT = {f"transport.auth.{key}": value for key, value in
       {"type": "jwt", "apiKey": "k", "tokenEndpoint": "http://h:1"}.items()}  # fmt: skip
INNER = {"transport.type": "composite", "transport.transports.a.type": "console"}

#: Every type of every section once, so that all keys of the catalogue are asked for.
BASES: list[Conf] = [
    {},
    HTTP,
    {**HTTP, "transport.auth.type": "api_key"},
    {**HTTP, **JWT},
    *({"transport.type": kind} for kind in ("kafka", "console", "file")),
    INNER,
    {"transport.type": "composite", "transport.transports.a.type": "http", "transport.transports.a.url": "http://h:1"},
    {"transport.type": "transform", "transport.transport.type": "file"},
    *({"circuitBreaker.type": kind}
      for kind in ("static", "timeout", "simpleMemory", "javaRuntime", "asyncTaskQueue")),
    *({"dataset.namespaceResolvers.a.type": kind} for kind in ("hostList", "pattern", "patternGroup")),
]  # fmt: skip

#: Confs that must raise and of which we say that no event arrives.
ENDING: list[Conf] = [
    {"transport.typ": "http"},
    {"transport.type": "htp"},
    {"transport": "http"},
    {**HTTP, "transport.auth.type": "api_ky"},
    {**HTTP, "transport.auth.apiKey": "k"},
    {**HTTP, "transport.url": "h:1"},
    {**HTTP, "transport.auth.type": "API_KEY", "transport.auth.apiKey": "k"},
    {**HTTP, "transport.auth.type": "jwt", "transport.auth.apiKey": "k"},
    {**HTTP, "transport.auth.type": "jwt", "transport.auth.tokenEndpoint": "http://h:1"},
    {"transport.type": "http", "transport.url.x": "y"},
    {**HTTP, "transport.headers": "x"},
    {"transport.type": "composite"},
    {**INNER, "transport.transports.a.no_such_key": "x"},
    {**INNER, "transport.transports.b.url": "http://h:1"},
    {**INNER, "transport.transports.b.type": "kafka", "transport.transports.b.properties.bootstrap.servers": "h:1"},
    {"transport.type": "transform", "transport.transport.type": "http", "transport.transport.headers.a.b": "x"},
    {"transport.type": "transform", "transport.transport.url": "http://h:1"},
    {"job.name.appendDatasetName": "true"},
    {"job.owners": "x"},
    {"job.owners.a.b": "x"},
    {"columnLineage": "x"},
    {"columnLineage.datasetLineageEnabled.x": "true"},
    {"circuitBreaker.type": "x"},
    {"circuitBreaker.timeoutInSeconds": "5"},
    {"dataset.namespaceResolvers.a.hosts": "[h]"},
    {"vendors.x": "y"},
]

#: Keys that must change nothing and of which we say that they are ignored.
PASSED_OVER: list[tuple[Conf, str]] = [
    *(({}, key) for key in (
        "namespce", "Namespace", "Transport.type", "filter.rddEventDisabled", "columnLineage.datasetLineagEnabled",
        "facets.spark.logicalPlan", "facets.disabled", "job.nme", "run.x", "jobName.x", "debug.x", "timeout.x",
        "dataset.x", "transportType", "url", "host", "apiKey", "version",
    )),
    *((HTTP, f"transport.{key}") for key in ("location", "timeout", "foo", "sslContext.x")),
    ({**HTTP, "transport.auth.type": "api_key"}, "transport.auth.api_key"),
    ({"transport.type": "file"}, "transport.path"),
    ({"transport.type": "file"}, "transport.url"),
    ({"circuitBreaker.type": "static"}, "circuitBreaker.queueSize"),
    ({"dataset.namespaceResolvers.a.type": "pattern"}, "dataset.namespaceResolvers.a.hosts"),
]  # fmt: skip


class Case(NamedTuple):
    what: str
    base: Conf
    conf: Conf


def named(pattern: str) -> str:
    return pattern.replace("**", "x.y" if "transport." not in pattern else "x").replace("*", "x")


def asked_keys() -> Iterator[tuple[Conf, str, Value]]:
    """Give every key once with each type of its section, beside a conf that it makes sense with."""
    seen = set()
    for base in BASES:
        for pattern, takes in known_keys(base).keys.items():
            new = (pattern, *(base.get(f"{section}.type") for section in holders(pattern)))
            alone = known_keys({**base, named(pattern): "x"}).untyped
            if pattern not in UNPARSED and pattern not in base and not alone and new not in seen:
                seen.add(new)
                yield base, pattern, takes


def takes_effect() -> Iterator[Case]:
    for base in BASES:
        yield Case("type", {}, base)
    for base, pattern, takes in asked_keys():
        if not pattern.endswith("type"):
            for value in [json.dumps(CONTEXT)] if pattern == "context" else GOOD.get(takes.kind, takes.choices):
                yield Case(pattern, base, {**base, named(pattern): value})


def ends() -> Iterator[Case]:
    for conf in ENDING:
        yield Case(str(conf), {}, conf)
    for base, pattern, takes in asked_keys():
        if takes.kind in FATAL:
            yield Case(pattern, base, {**base, named(pattern): FATAL[takes.kind]})


def passed_over() -> Iterator[Case]:
    """Compare with a key that nobody can know, in the same section: the section itself is made by both."""
    for base, key in PASSED_OVER:
        section, dot, _ = key.rpartition(".")
        yield Case(key, {**base, f"{section}{dot}no_such_key": "x"}, {**base, key: "x"})


class Answers(NamedTuple):
    """What the parser made of every conf, and which words its jar holds."""

    parsed: dict[str, str | None]
    in_the_jar: list[str]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Ask the real parser about every conf of this file: one start of Java for all."""
    folder = tmp_path_factory.mktemp("parser")
    cases = [*takes_effect(), *ends(), *passed_over()]
    confs = {whole(conf): conf for case in cases for conf in (case.base, case.conf)}
    asked, said, log = folder / "asked.json", folder / "said.json", folder / "log"
    prefixed = [{f"{PREFIX}{key}": value for key, value in conf.items()} for conf in confs.values()]
    asked.write_text(json.dumps({"confs": prefixed, "words": [f"{PREFIX}{key}" for key in UNPARSED]}))
    spark = find_spark()
    conf = {"spark.master": "local[1]", "spark.ui.enabled": "false"}
    conf["spark.jars.packages"] = find_line(spark.version).listener
    with start(spark, Path(__file__).with_name("ask_parser.py"), [str(asked), str(said)], conf, folder, log) as job:
        assert job.wait(250) == 0, log.read_text()[-3000:]
    found = json.loads(said.read_text())
    return Answers(dict(zip(confs, found["parsed"], strict=True)), found["in_the_jar"])


@pytest.fixture
def parsed(answers: Answers) -> dict[str, str | None]:
    return answers.parsed


def whole(conf: Conf) -> str:
    return json.dumps(conf, sort_keys=True)


def effects(conf: Conf) -> set[Effect]:
    given = {f"{PREFIX}{key}": value for key, value in conf.items()} | {"spark.extraListeners": LISTENER_CLASS}
    sent = {f"{PREFIX}transport.type": "file", f"{PREFIX}transport.location": "/x"}
    return {finding.effect for finding in check_conf((sent if "transport" not in str(conf) else {}) | given)}


def test_every_known_key_takes_effect(parsed: dict[str, str | None]) -> None:
    shown: dict[str, set[bool]] = {}
    for case in takes_effect():
        assert parsed[whole(case.conf)] is not None, case.conf
        changed = case.conf == {} or parsed[whole(case.conf)] != parsed[whole(case.base)]
        shown.setdefault(case.what, set()).add(changed)
    assert [what for what, changed in shown.items() if True not in changed] == []


def test_what_ends_the_listener_is_told(parsed: dict[str, str | None]) -> None:
    for case in ends():
        assert parsed[whole(case.conf)] is None, case.conf
        assert Effect.silent in effects(case.conf), case.conf


def test_what_the_listener_passes_over_is_told(parsed: dict[str, str | None]) -> None:
    for case in passed_over():
        assert parsed[whole(case.conf)] == parsed[whole(case.base)] is not None, case.conf
        assert Effect.ignored in effects(case.conf), case.conf


def test_keys_that_other_classes_read_are_in_the_jar(answers: Answers) -> None:
    assert answers.in_the_jar == [f"{PREFIX}{key}" for key in UNPARSED]

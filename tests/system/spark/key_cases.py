"""Confs for the parser of the listener, generated from the key catalog."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from connectors.spark.listener_keys import UNPARSED, KeySpec, ValueType, accepted_keys, parent_sections

Conf = dict[str, str]

VALID = {
    ValueType.anything: ["x7"],
    ValueType.text: ["x7"],
    ValueType.boolean: ["true", "FALSE"],
    ValueType.lenient_boolean: ["true", "false"],
    ValueType.integer: ["7"],
    ValueType.url: ["http://h7:7"],
    ValueType.uuid: ["01234567-89ab-7def-8123-456789abcdef"],
    ValueType.string_list: ["[a7;b7]"],
}
#: A parent run as one JSON value.
CONTEXT = {"parent": {"run": {"runId": VALID[ValueType.uuid][0]}, "job": {"namespace": "n", "name": "m"}}}
INVALID = {
    ValueType.text: "[x]",
    ValueType.boolean: "yes",
    ValueType.integer: "7.5",
    ValueType.string_list: "x",
    ValueType.choice: "no_such_choice",
    ValueType.exact_choice: "no_such_choice",
}
HTTP = {"transport.type": "http", "transport.url": "http://h:1"}
JWT = {f"transport.auth.{key}": value for key, value in
       {"type": "jwt", "apiKey": "k", "tokenEndpoint": "http://h:1"}.items()}  # fmt: skip
INNER = {"transport.type": "composite", "transport.transports.a.type": "console"}

#: Every type of every section once, to cover all keys of the catalog.
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

#: Confs that must raise, and are reported as silent: no event arrives.
FATAL_CONFS: list[Conf] = [
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

#: Keys that must change nothing, and are reported as ignored.
IGNORED_KEYS: list[tuple[Conf, str]] = [
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
    name: str
    base: Conf
    conf: Conf


def concrete_key(pattern: str) -> str:
    return pattern.replace("**", "x.y" if "transport." not in pattern else "x").replace("*", "x")


def keys_with_base() -> Iterator[tuple[Conf, str, KeySpec]]:
    """Every key once per type of its section, with a base conf in which it applies."""
    seen = set()
    for base in BASES:
        for pattern, spec in accepted_keys(base).keys.items():
            new = (pattern, *(base.get(f"{section}.type") for section in parent_sections(pattern)))
            untyped_sections = accepted_keys({**base, concrete_key(pattern): "x"}).untyped_sections
            if pattern not in UNPARSED and pattern not in base and not untyped_sections and new not in seen:
                seen.add(new)
                yield base, pattern, spec


def effective_cases() -> Iterator[Case]:
    for base in BASES:
        yield Case("type", {}, base)
    for base, pattern, spec in keys_with_base():
        if not pattern.endswith("type"):
            for value in [json.dumps(CONTEXT)] if pattern == "context" else VALID.get(spec.kind, spec.choices):
                yield Case(pattern, base, {**base, concrete_key(pattern): value})


def fatal_cases() -> Iterator[Case]:
    for conf in FATAL_CONFS:
        yield Case(str(conf), {}, conf)
    for base, pattern, spec in keys_with_base():
        if spec.kind in INVALID:
            yield Case(pattern, base, {**base, concrete_key(pattern): INVALID[spec.kind]})


def ignored_cases() -> Iterator[Case]:
    """Each case is compared with an unknown key in the same section, because both create the section."""
    for base, key in IGNORED_KEYS:
        section, dot, _ = key.rpartition(".")
        yield Case(key, {**base, f"{section}{dot}no_such_key": "x"}, {**base, key: "x"})


def conf_key(conf: Conf) -> str:
    """Canonical JSON of a conf, used as dictionary key."""
    return json.dumps(conf, sort_keys=True)

"""Conf keys of the OpenLineage listener, and the values they accept."""

import difflib
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple


class ValueType(StrEnum):
    """What may stand as a value; all but `anything`, `switch` and `uuid` end the listener when it is wrong."""

    anything = "anything"
    text = "text"
    boolean = "boolean"
    switch = "switch"
    integer = "integer"
    url = "url"
    uuid = "uuid"
    several = "several"
    choice = "choice"
    exact_choice = "exact_choice"


class KeySpec(NamedTuple):
    """What a key takes."""

    kind: ValueType
    choices: tuple[str, ...] = ()


#: Keys and what they take; `*` stands for one word of a key, `**` for its whole rest.
Keys = Mapping[str, KeySpec]

_ANYTHING, _TEXT, _BOOLEAN, _SWITCH = (
    KeySpec(ValueType.anything),
    KeySpec(ValueType.text),
    KeySpec(ValueType.boolean),
    KeySpec(ValueType.switch),
)
_INTEGER, _URL, _UUID, _SEVERAL = (
    KeySpec(ValueType.integer),
    KeySpec(ValueType.url),
    KeySpec(ValueType.uuid),
    KeySpec(ValueType.several),
)

#: Read by the listener's other classes from the conf itself, beside its parser.
UNPARSED: Keys = {
    "disabled": _SWITCH,
    "capturedProperties": _ANYTHING,
    "dataset.removePath.pattern": _ANYTHING,
}

_PLAIN: Keys = {
    **UNPARSED,
    "namespace": _TEXT,
    "parentJobNamespace": _TEXT,
    "parentJobName": _TEXT,
    "parentRunId": _UUID,
    "rootParentJobNamespace": _TEXT,
    "rootParentJobName": _TEXT,
    "rootParentRunId": _UUID,
    "context": _ANYTHING,
    "appName": _ANYTHING,
    "overriddenAppName": _TEXT,
    "applicationRunId": _UUID,
    "overriddenApplicationRunId": _UUID,
    "testExtensionProvider": _TEXT,
    "jobName.appendDatasetName": _BOOLEAN,
    "jobName.replaceDotWithUnderscore": _BOOLEAN,
    "job.namespace": _TEXT,
    "job.name": _TEXT,
    "job.owners.*": _TEXT,
    "job.tags": _ANYTHING,
    "run.tags": _ANYTHING,
    "filter.rddEventsDisabled": _BOOLEAN,
    "filter.allowedSparkNodes": _SEVERAL,
    "filter.deniedSparkNodes": _SEVERAL,
    "columnLineage.datasetLineageEnabled": _BOOLEAN,
    "columnLineage.descriptionsEnabled": _BOOLEAN,
    "columnLineage.schemaSizeLimit": _INTEGER,
    "facets.**.disabled": _SWITCH,
    "facets.custom_environment_variables": _SEVERAL,
    "debug.smart": _BOOLEAN,
    "debug.smartMode": _TEXT,
    "debug.metricsDisabled": _BOOLEAN,
    "debug.logPlanAsJson": _BOOLEAN,
    "debug.payloadSizeLimitInKilobytes": _INTEGER,
    "timeout.buildDatasetsTimePercentage": _INTEGER,
    "timeout.facetsBuildingTimePercentage": _INTEGER,
    "vendors.*.metricsReporterDisabled": _BOOLEAN,
    "metrics.**": _ANYTHING,
    "dataset.disabledTrimmers": _TEXT,
    "dataset.extraTrimmers": _TEXT,
}

#: Sections whose other keys depend on their `type`; a section without a type ends the listener.
TypedSection = Mapping[str, Keys]

_TRANSPORTS: TypedSection = {
    "http": {
        "url": _URL,
        "endpoint": _TEXT,
        "timeoutInMillis": _INTEGER,
        "compression": KeySpec(ValueType.choice, ("gzip",)),
        "urlParams.**": _TEXT,
        "headers.**": _TEXT,
        "sslContext.storePassword": _TEXT,
        "sslContext.keyPassword": _TEXT,
        "sslContext.keyStoreType": _TEXT,
        "sslContext.keyStorePath": _TEXT,
    },
    "kafka": {"topicName": _TEXT, "messageKey": _TEXT, "properties.**": _TEXT},
    "console": {},
    "file": {"location": _TEXT},
    "composite": {"continueOnFailure": _BOOLEAN, "withThreadPool": _BOOLEAN},
    "transform": {"transformerClass": _TEXT, "transformClass": _TEXT, "transformerProperties.**": _TEXT},
}
#: Inside another transport the listener takes every dot of a key for a section of its own.
_INNER: TypedSection = {
    kind: {key.replace("**", "*"): value for key, value in keys.items()} for kind, keys in _TRANSPORTS.items()
}
_AUTH: TypedSection = {
    "api_key": {"apiKey": _TEXT},
    "jwt": {
        "apiKey": _TEXT,
        "tokenEndpoint": _TEXT,
        "tokenFields": _SEVERAL,
        "expiresInField": _TEXT,
        "grantType": _TEXT,
        "responseType": _TEXT,
        "tokenRefreshBuffer": _INTEGER,
    },
}
_EVERY = {"circuitCheckIntervalInMillis": _INTEGER}
_BREAKERS: TypedSection = {
    "static": {"valuesReturned": _TEXT, **_EVERY},
    "timeout": {"timeoutInSeconds": _INTEGER, **_EVERY},
    "simpleMemory": {"memoryThreshold": _INTEGER, "timeoutInSeconds": _INTEGER, **_EVERY},
    "javaRuntime": {
        "memoryThreshold": _INTEGER,
        "gcCpuThreshold": _INTEGER,
        "timeoutInSeconds": _INTEGER,
        **_EVERY,
    },
    "asyncTaskQueue": {
        "threadCount": _INTEGER,
        "queueSize": _INTEGER,
        "blockingTimeInSeconds": _INTEGER,
        "shutdownTimeoutSeconds": _INTEGER,
        **_EVERY,
    },
}
_RESOLVERS: TypedSection = {
    "hostList": {"hosts": _SEVERAL, "schema": _TEXT},
    "pattern": {"regex": _TEXT, "schema": _TEXT},
    "patternGroup": {"regex": _TEXT, "matchingGroup": _TEXT, "schema": _TEXT},
}


class AcceptedKeys(NamedTuple):
    """What the listener knows, given the types that a conf chooses."""

    keys: dict[str, KeySpec]
    untyped: list[str]


def accepted_keys(conf: Mapping[str, str]) -> AcceptedKeys:
    """Say which keys (without the prefix) the listener would look at beside those of this conf."""
    known = AcceptedKeys(dict(_PLAIN), [])
    _add_transport("transport.", conf, known)
    _add("circuitBreaker.", _BREAKERS, conf, known)
    for name in _names("dataset.namespaceResolvers.", conf):
        _add(f"dataset.namespaceResolvers.{name}.", _RESOLVERS, conf, known)
    return known


def _add_transport(at: str, conf: Mapping[str, str], known: AcceptedKeys) -> None:
    types = _add(at, _TRANSPORTS if at == "transport." else _INNER, conf, known)
    if "http" in types:
        _add(f"{at}auth.", _AUTH, conf, known)
    if "composite" in types:
        for name in _names(f"{at}transports.", conf):
            _add_transport(f"{at}transports.{name}.", conf, known)
    if "transform" in types and any(key.startswith(f"{at}transport.") for key in conf):
        _add_transport(f"{at}transport.", conf, known)


def _add(at: str, typed: TypedSection, conf: Mapping[str, str], known: AcceptedKeys) -> list[str]:
    """Add the keys of a section's type, of all its types while it has none; gives those types."""
    given = conf.get(f"{at}type", "")
    types = [name for name in typed if name.lower() == given.lower()] or list(typed)
    for name in types:
        known.keys.update({f"{at}{key}": value for key, value in typed[name].items()})
    kind = ValueType.exact_choice if typed is _AUTH else ValueType.choice  # only here the listener minds the case
    known.keys[f"{at}type"] = KeySpec(kind, tuple(typed))
    if not given and any(key.startswith(at) for key in conf):
        known.untyped.append(at)
    return types


def _names(at: str, conf: Mapping[str, str]) -> list[str]:
    rests = [key.removeprefix(at) for key in conf if key.startswith(at)]
    return list(dict.fromkeys(rest.partition(".")[0] for rest in rests))


def find_key(key: str, keys: Keys) -> KeySpec | None:
    """Find what a key takes; None when no key, and no pattern, is this one."""
    if key in keys:
        return keys[key]
    return next((keys[pattern] for pattern in keys if matches(pattern, key)), None)


def matches(pattern: str, key: str) -> bool:
    """Tell whether a key is one of a pattern."""
    spelled = {"**": ".+", "*": r"[^.]+"}
    parts = (spelled.get(part, re.escape(part)) for part in re.split(r"(\*\*?)", pattern))
    return re.fullmatch("".join(parts), key) is not None


def parent_sections(key: str) -> list[str]:
    """Give the sections that a key stands in, the outermost first."""
    parts = key.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def is_section(key: str, keys: Iterable[str]) -> bool:
    """Tell whether a key holds other keys, and therefore takes no value."""
    sections = {holder for known in keys for holder in parent_sections(known) if not holder.endswith("**")}
    return any(matches(section, key) for section in sections)


def nearest_key(key: str, keys: Iterable[str], similar: float = 0.0) -> str | None:
    """Find the key that looks most like this one, whatever the case; the freely named part of it is `<name>`."""
    spelled = {name.lower(): name for name in keys}
    found = difflib.get_close_matches(key.lower(), list(spelled), n=1, cutoff=similar)
    return re.sub(r"\*\*?", "<name>", spelled[found[0]]) if found else None

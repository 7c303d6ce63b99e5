"""Every key that the listener knows, and what it makes of a value; a system test asks the listener itself."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
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


class Value(NamedTuple):
    """What a key takes."""

    kind: Kind
    choices: tuple[str, ...] = ()


#: Keys and what they take; `*` stands for one word of a key, `**` for its whole rest.
Keys = Mapping[str, Value]

_ANYTHING, _TEXT, _BOOLEAN, _SWITCH = Value(Kind.anything), Value(Kind.text), Value(Kind.boolean), Value(Kind.switch)
_INTEGER, _URL, _UUID, _SEVERAL = Value(Kind.integer), Value(Kind.url), Value(Kind.uuid), Value(Kind.several)

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
Typed = Mapping[str, Keys]

_TRANSPORTS: Typed = {
    "http": {
        "url": _URL,
        "endpoint": _TEXT,
        "timeoutInMillis": _INTEGER,
        "compression": Value(Kind.choice, ("gzip",)),
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
_INNER: Typed = {
    kind: {key.replace("**", "*"): value for key, value in keys.items()} for kind, keys in _TRANSPORTS.items()
}
_AUTH: Typed = {
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
_BREAKERS: Typed = {
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
_RESOLVERS: Typed = {
    "hostList": {"hosts": _SEVERAL, "schema": _TEXT},
    "pattern": {"regex": _TEXT, "schema": _TEXT},
    "patternGroup": {"regex": _TEXT, "matchingGroup": _TEXT, "schema": _TEXT},
}


class Known(NamedTuple):
    """What the listener knows, given the types that a conf chooses."""

    keys: dict[str, Value]
    untyped: list[str]


def known_keys(conf: Mapping[str, str]) -> Known:
    """Say which keys (without the prefix) the listener would look at beside those of this conf."""
    known = Known(dict(_PLAIN), [])
    _add_transport("transport.", conf, known)
    _add("circuitBreaker.", _BREAKERS, conf, known)
    for name in _names("dataset.namespaceResolvers.", conf):
        _add(f"dataset.namespaceResolvers.{name}.", _RESOLVERS, conf, known)
    return known


def _add_transport(at: str, conf: Mapping[str, str], known: Known) -> None:
    types = _add(at, _TRANSPORTS if at == "transport." else _INNER, conf, known)
    if "http" in types:
        _add(f"{at}auth.", _AUTH, conf, known)
    if "composite" in types:
        for name in _names(f"{at}transports.", conf):
            _add_transport(f"{at}transports.{name}.", conf, known)
    if "transform" in types and any(key.startswith(f"{at}transport.") for key in conf):
        _add_transport(f"{at}transport.", conf, known)


def _add(at: str, typed: Typed, conf: Mapping[str, str], known: Known) -> list[str]:
    """Add the keys of a section's type, of all its types while it has none; gives those types."""
    given = conf.get(f"{at}type", "")
    types = [name for name in typed if name.lower() == given.lower()] or list(typed)
    for name in types:
        known.keys.update({f"{at}{key}": value for key, value in typed[name].items()})
    kind = Kind.exact_choice if typed is _AUTH else Kind.choice  # only here the listener minds the case
    known.keys[f"{at}type"] = Value(kind, tuple(typed))
    if not given and any(key.startswith(at) for key in conf):
        known.untyped.append(at)
    return types


def _names(at: str, conf: Mapping[str, str]) -> list[str]:
    rests = [key.removeprefix(at) for key in conf if key.startswith(at)]
    return list(dict.fromkeys(rest.partition(".")[0] for rest in rests))

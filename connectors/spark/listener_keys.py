"""Conf keys of the OpenLineage listener, and the values they accept."""

import difflib
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple


class ValueType(StrEnum):
    """Type of a value; invalid values stop the listener, except those of a `lenient_boolean` or a `uuid`."""

    anything = "anything"
    text = "text"
    boolean = "boolean"
    lenient_boolean = "lenient_boolean"
    integer = "integer"
    url = "url"
    uuid = "uuid"
    string_list = "string_list"
    choice = "choice"
    exact_choice = "exact_choice"


class KeySpec(NamedTuple):
    """The type of a key's value, and its choices, if any."""

    kind: ValueType
    choices: tuple[str, ...] = ()


#: Keys and their values; `*` stands for one part of a key, `**` for all remaining parts.
Keys = Mapping[str, KeySpec]

_ANYTHING = KeySpec(ValueType.anything)
_TEXT = KeySpec(ValueType.text)
_BOOLEAN = KeySpec(ValueType.boolean)
_LENIENT_BOOLEAN = KeySpec(ValueType.lenient_boolean)
_INTEGER = KeySpec(ValueType.integer)
_URL = KeySpec(ValueType.url)
_UUID = KeySpec(ValueType.uuid)
_STRING_LIST = KeySpec(ValueType.string_list)

#: Keys that the listener reads directly from the conf, without its parser.
UNPARSED: Keys = {
    "disabled": _LENIENT_BOOLEAN,
    "capturedProperties": _ANYTHING,
    "dataset.removePath.pattern": _ANYTHING,
}

_UNTYPED_KEYS: Keys = {
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
    "filter.allowedSparkNodes": _STRING_LIST,
    "filter.deniedSparkNodes": _STRING_LIST,
    "columnLineage.datasetLineageEnabled": _BOOLEAN,
    "columnLineage.descriptionsEnabled": _BOOLEAN,
    "columnLineage.schemaSizeLimit": _INTEGER,
    "facets.**.disabled": _LENIENT_BOOLEAN,
    "facets.custom_environment_variables": _STRING_LIST,
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

#: The keys of a section, by its `type`; a section without a type stops the listener.
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
#: Inside another transport, the listener treats every dot in a key as the start of a section.
_INNER_TRANSPORTS: TypedSection = {
    kind: {key.replace("**", "*"): value for key, value in keys.items()} for kind, keys in _TRANSPORTS.items()
}
_AUTH: TypedSection = {
    "api_key": {"apiKey": _TEXT},
    "jwt": {
        "apiKey": _TEXT,
        "tokenEndpoint": _TEXT,
        "tokenFields": _STRING_LIST,
        "expiresInField": _TEXT,
        "grantType": _TEXT,
        "responseType": _TEXT,
        "tokenRefreshBuffer": _INTEGER,
    },
}
_COMMON_BREAKER_KEYS = {"circuitCheckIntervalInMillis": _INTEGER}
_BREAKERS: TypedSection = {
    "static": {"valuesReturned": _TEXT, **_COMMON_BREAKER_KEYS},
    "timeout": {"timeoutInSeconds": _INTEGER, **_COMMON_BREAKER_KEYS},
    "simpleMemory": {"memoryThreshold": _INTEGER, "timeoutInSeconds": _INTEGER, **_COMMON_BREAKER_KEYS},
    "javaRuntime": {
        "memoryThreshold": _INTEGER,
        "gcCpuThreshold": _INTEGER,
        "timeoutInSeconds": _INTEGER,
        **_COMMON_BREAKER_KEYS,
    },
    "asyncTaskQueue": {
        "threadCount": _INTEGER,
        "queueSize": _INTEGER,
        "blockingTimeInSeconds": _INTEGER,
        "shutdownTimeoutSeconds": _INTEGER,
        **_COMMON_BREAKER_KEYS,
    },
}
_RESOLVERS: TypedSection = {
    "hostList": {"hosts": _STRING_LIST, "schema": _TEXT},
    "pattern": {"regex": _TEXT, "schema": _TEXT},
    "patternGroup": {"regex": _TEXT, "matchingGroup": _TEXT, "schema": _TEXT},
}


class AcceptedKeys(NamedTuple):
    """The keys that the listener accepts for the types in a conf, and the sections that lack a type."""

    keys: dict[str, KeySpec]
    untyped_sections: list[str]


def accepted_keys(conf: Mapping[str, str]) -> AcceptedKeys:
    """Find the keys (without prefix) that the listener accepts for the types in a conf."""
    accepted = AcceptedKeys(dict(_UNTYPED_KEYS), [])
    _add_transport("transport.", conf, accepted)
    _add_section("circuitBreaker.", _BREAKERS, conf, accepted)
    for name in _child_names("dataset.namespaceResolvers.", conf):
        _add_section(f"dataset.namespaceResolvers.{name}.", _RESOLVERS, conf, accepted)
    return accepted


def _add_transport(prefix: str, conf: Mapping[str, str], accepted: AcceptedKeys) -> None:
    """Add the keys of a transport, of its authentication and of its inner transports."""
    transports = _TRANSPORTS if prefix == "transport." else _INNER_TRANSPORTS
    types = _add_section(prefix, transports, conf, accepted)
    if "http" in types:
        _add_section(f"{prefix}auth.", _AUTH, conf, accepted)
    if "composite" in types:
        for name in _child_names(f"{prefix}transports.", conf):
            _add_transport(f"{prefix}transports.{name}.", conf, accepted)
    if "transform" in types and any(key.startswith(f"{prefix}transport.") for key in conf):
        _add_transport(f"{prefix}transport.", conf, accepted)


def _add_section(
    prefix: str, keys_by_type: TypedSection, conf: Mapping[str, str], accepted: AcceptedKeys
) -> list[str]:
    """Add the keys of a section for its type, or for all types if no known type is set; returns these types."""
    type_name = conf.get(f"{prefix}type", "")
    matching_types = [name for name in keys_by_type if name.lower() == type_name.lower()]
    types = matching_types or list(keys_by_type)
    for name in types:
        accepted.keys.update({f"{prefix}{key}": spec for key, spec in keys_by_type[name].items()})
    # Only the type of `auth` is case-sensitive.
    kind = ValueType.exact_choice if keys_by_type is _AUTH else ValueType.choice
    accepted.keys[f"{prefix}type"] = KeySpec(kind, tuple(keys_by_type))
    if not type_name and any(key.startswith(prefix) for key in conf):
        accepted.untyped_sections.append(prefix)
    return types


def _child_names(prefix: str, conf: Mapping[str, str]) -> list[str]:
    suffixes = [key.removeprefix(prefix) for key in conf if key.startswith(prefix)]
    return list(dict.fromkeys(suffix.partition(".")[0] for suffix in suffixes))


def find_key(key: str, keys: Keys) -> KeySpec | None:
    """Find the spec of a key by its name or a pattern; returns None if the key is unknown."""
    if key in keys:
        return keys[key]
    return next((keys[pattern] for pattern in keys if matches_pattern(pattern, key)), None)


def matches_pattern(pattern: str, key: str) -> bool:
    """Return whether a key matches a pattern, in which `*` and `**` are wildcards."""
    wildcards = {"**": ".+", "*": r"[^.]+"}
    parts = (wildcards.get(part, re.escape(part)) for part in re.split(r"(\*\*?)", pattern))
    return re.fullmatch("".join(parts), key) is not None


def parent_sections(key: str) -> list[str]:
    """List the sections that contain a key, outermost first."""
    parts = key.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def is_section(key: str, keys: Iterable[str]) -> bool:
    """Return whether a key is a section, which has no value."""
    sections = {section for candidate in keys for section in parent_sections(candidate) if not section.endswith("**")}
    return any(matches_pattern(section, key) for section in sections)


def nearest_key(key: str, keys: Iterable[str], min_similarity: float = 0.0) -> str | None:
    """Find the most similar key, ignoring case; wildcards in the key are shown as `<name>`."""
    keys_by_lower_case = {name.lower(): name for name in keys}
    close_matches = difflib.get_close_matches(key.lower(), list(keys_by_lower_case), n=1, cutoff=min_similarity)
    if not close_matches:
        return None
    return re.sub(r"\*\*?", "<name>", keys_by_lower_case[close_matches[0]])

"""Classes that the server deserializes events into: known and required members."""

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.standins.marquez import times

_NOT_IN_URI = re.compile(r"[\s<>\"{}|\\^`]|%(?![0-9a-fA-F]{2})")
#: Floats that are encoded with an exponent, and the limit of the integers that the JSON library encodes.
_MIN_WITH_EXPONENT, _MAX_INTEGER = 1e16, 2.0**63


class Unreadable(Exception):
    """A value with another type than the class has."""


@dataclass(frozen=True)
class Shape:
    """A class: members with their types, and required members."""

    name: str
    members: dict[str, Any]
    required: tuple[str, ...] = ()
    #: Type of all other members; None keeps their values unchanged.
    other_members: Any = field(default=None)


_FACET = {"_producer": "uri", "_schemaURL": "uri"}


def _facet(name: str, members: dict[str, Any], *required: str) -> Shape:
    return Shape(name, {**_FACET, **members}, ("_producer", "_schemaURL", *required))


_RUN_LINK = Shape("RunLink", {"runId": "text"}, ("runId",))
_JOB_LINK = Shape("JobLink", {"namespace": "text", "name": "text"}, ("namespace", "name"))
_RUN_FACETS = Shape(
    "RunFacet",
    {
        "nominalTime": _facet(
            "NominalTimeRunFacet", {"nominalStartTime": "time", "nominalEndTime": "time"}, "nominalStartTime"
        ),
        "parent": _facet("ParentRunFacet", {"run": _RUN_LINK, "job": _JOB_LINK}, "run", "job"),
    },
)
_JOB_FACETS = Shape(
    "JobFacet",
    {
        "documentation": _facet("DocumentationJobFacet", {"description": "text"}, "description"),
        "sourceCodeLocation": _facet("SourceCodeLocationJobFacet", {"type": "text", "url": "text"}),
        "sql": _facet("SQLJobFacet", {"query": "text"}, "query"),
        "jobType": _facet("JobTypeJobFacet", {"processingType": "text", "integration": "text", "jobType": "text"}),
    },
)
_FIELD = Shape("SchemaField", {"name": "text", "type": "text", "description": "text"}, ("name",))
_INPUT_FIELD = Shape("ColumnLineageInputField", {"namespace": "text", "name": "text", "field": "text"})
_COLUMN = Shape(
    "ColumnLineageOutputColumn",
    {"inputFields": [_INPUT_FIELD], "transformationDescription": "text", "transformationType": "text"},
)
_SYMLINK = Shape("SymlinkIdentifier", {"namespace": "text", "name": "text", "type": "text"}, ("namespace", "name"))
_DATASET_FACETS = Shape(
    "DatasetFacets",
    {
        "documentation": _facet("DocumentationDatasetFacet", {"description": "text"}, "description"),
        "schema": _facet("SchemaDatasetFacet", {"fields": [_FIELD]}),
        "dataSource": _facet("DatasourceDatasetFacet", {"name": "text", "uri": "text"}),
        "description": "text",
        "lifecycleStateChange": _facet("LifecycleStateChangeFacet", {"lifecycleStateChange": "text"}),
        "columnLineage": _facet(
            "ColumnLineageDatasetFacet", {"fields": Shape("ColumnLineageDatasetFacetFields", {}, (), _COLUMN)}
        ),
        "symlinks": _facet("DatasetSymlinkFacet", {"identifiers": [_SYMLINK]}),
    },
)
_ANY_FACETS = Shape("Facets", {})
_DATASET = Shape(
    "Dataset",
    {
        "namespace": "text",
        "name": "text",
        "facets": _DATASET_FACETS,
        "inputFacets": _ANY_FACETS,
        "outputFacets": _ANY_FACETS,
    },
    ("namespace", "name"),
)
_JOB = Shape("Job", {"namespace": "text", "name": "text", "facets": _JOB_FACETS}, ("namespace", "name"))
_RUN = Shape("Run", {"runId": "text", "facets": _RUN_FACETS}, ("runId",))
_BASE = {"eventTime": "time", "producer": "text", "schemaURL": "uri"}

EVENTS = {
    "RunEvent": Shape(
        "LineageEvent",
        {**_BASE, "eventType": "text", "run": _RUN, "job": _JOB, "inputs": [_DATASET], "outputs": [_DATASET]},
        ("eventTime", "run", "job", "producer"),
    ),
    "DatasetEvent": Shape("DatasetEvent", {**_BASE, "dataset": _DATASET}, ("eventTime", "dataset", "producer")),
    "JobEvent": Shape(
        "JobEvent",
        {**_BASE, "job": _JOB, "inputs": [_DATASET], "outputs": [_DATASET]},
        ("eventTime", "job", "producer"),
    ),
}


def read(value: Any, shape: Any) -> Any:
    """Deserialize a value: known members are present or null, null values of others are dropped."""
    if value is None:
        return None
    if isinstance(shape, Shape):
        return _object(value, shape)
    if isinstance(shape, list):
        if not isinstance(value, list):
            raise Unreadable(f"Cannot deserialize value of type `java.util.ArrayList` from {_token(value)}")
        if None in value:
            raise Unreadable("null in a list")
        return [read(item, shape[0]) for item in value]
    if shape == "time":
        return _time(value)
    if isinstance(value, dict | list):
        raise Unreadable(f"Cannot deserialize value of type `java.lang.String` from {_token(value)}")
    text = _to_text(value)
    if shape == "uri" and _NOT_IN_URI.search(text):
        raise Unreadable(f'Cannot deserialize value of type `java.net.URI` from String "{text}": not a valid textual')
    return text


def faults(value: Any, shape: Any, path: str = "") -> list[str]:
    """List violations of required members."""
    if value is None:
        return []
    if isinstance(shape, list):
        return [line for at, item in enumerate(value) for line in faults(item, shape[0], f"{path}[{at}]")]
    if not isinstance(shape, Shape):
        return []
    before = f"{path}." if path else ""
    out = [f"{before}{name} must not be null" for name in shape.required if value[name] is None]
    for name, inner in shape.members.items():
        out += faults(value[name], inner, before + name)
    return out


def without_nulls(value: Any) -> Any:
    """Drop null members, recursively."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def to_stored(value: Any) -> Any:
    """Convert a facet to its stored form."""
    return without_nulls(to_logged(value))


def _object(value: Any, shape: Shape) -> dict[str, Any]:
    if not isinstance(value, dict):
        kind = f"marquez.service.models.LineageEvent${shape.name}"
        if isinstance(value, str):
            raise Unreadable(
                f"Cannot construct instance of `{kind}` (although at least one Creator exists): no String-argument "
                f"constructor/factory method to deserialize from String value ('{value}')"
            )
        raise Unreadable(f"Cannot deserialize value of type `{kind}` from {_token(value)}")
    out = {name: read(value.get(name), inner) for name, inner in shape.members.items()}
    for name, item in value.items():
        if name not in out and item is not None:
            out[name] = without_nulls(item) if shape.other_members is None else read(item, shape.other_members)
    return out


def _time(value: Any) -> times.Timestamp | None:
    if value == "":
        return None
    if isinstance(value, dict | list | bool):
        raise Unreadable(f"Cannot deserialize value of type `java.time.ZonedDateTime` from {_token(value)}")
    try:
        return times.parse_time(value)
    except times.InvalidTime as bad:
        raise Unreadable(
            f'Cannot deserialize value of type `java.time.ZonedDateTime` from String "{value}": Failed to deserialize '
            f"java.time.ZonedDateTime: (java.time.format.DateTimeParseException) {bad}"
        ) from None


def _to_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _token(value: Any) -> str:
    names = {dict: ("Object", "START_OBJECT"), list: ("Array", "START_ARRAY"), bool: ("Boolean", "VALUE_TRUE")}
    kind, token = names.get(type(value), ("Integer", "VALUE_NUMBER_INT"))
    return f"{kind} value (token `JsonToken.{token}`)"


def to_logged(value: Any) -> Any:
    """Render a deserialized value as the log does: formatted times, and large floats without exponents."""
    if isinstance(value, times.Timestamp):
        return value.text
    if isinstance(value, float) and _MIN_WITH_EXPONENT <= abs(value) < _MAX_INTEGER:
        return int(Decimal(repr(value)))
    if isinstance(value, dict):
        return {name: to_logged(item) for name, item in value.items()}
    return [to_logged(item) for item in value] if isinstance(value, list) else value

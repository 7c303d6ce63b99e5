"""Builds OpenLineage events and facets as JSON."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mappers.canonical_json import JsonObject

PRODUCER = "https://github.com/lineage-bridge/lineage-bridge"
_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_FACETS = {
    "schema": "1-1-1/SchemaDatasetFacet",
    "version": "1-0-1/DatasetVersionDatasetFacet",
    "inputStatistics": "1-0-0/InputStatisticsInputDatasetFacet",
    "outputStatistics": "1-0-2/OutputStatisticsOutputDatasetFacet",
}


def standard_facet(name: str, content: JsonObject) -> JsonObject:
    """Build a facet that the OpenLineage specification defines."""
    definition = _FACETS[name]
    kind = definition.partition("/")[2]
    url = f"https://openlineage.io/spec/facets/{definition}.json#/$defs/{kind}"
    return {"_producer": PRODUCER, "_schemaURL": url, **content}


def custom_facet(kind: str, value: Any) -> JsonObject:
    """Build a facet that is not in the specification; a value that is not an object becomes the member `value`."""
    content = value if isinstance(value, dict) else {"value": value}
    return {"_producer": PRODUCER, "_schemaURL": _SPEC + kind, **content}


def custom_facets(kind: str, values: Mapping[str, Any]) -> JsonObject:
    """Build custom facets of one kind; null values are skipped."""
    return {name: custom_facet(kind, value) for name, value in values.items() if value is not None}


def build_event(kind: str, time: str, producer: str | None, content: JsonObject) -> bytes:
    """Build a RunEvent, JobEvent or DatasetEvent."""
    head = {"eventTime": time, "producer": producer or PRODUCER, "schemaURL": _SPEC + kind}
    return msgspec.json.encode(head | content)

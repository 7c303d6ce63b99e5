"""OpenLineage events as JSON, written from what others say in other words."""

from typing import Any

import msgspec

Json = dict[str, Any]

PRODUCER = "https://github.com/lineage-bridge/lineage-bridge"
_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_FACETS = {
    "schema": "1-1-1/SchemaDatasetFacet",
    "version": "1-0-1/DatasetVersionDatasetFacet",
    "inputStatistics": "1-0-0/InputStatisticsInputDatasetFacet",
    "outputStatistics": "1-0-2/OutputStatisticsOutputDatasetFacet",
}


def spec_facet(name: str, content: Json) -> Json:
    """Write a facet that the specification names."""
    file = _FACETS[name]
    kind = file.partition("/")[2]
    url = f"https://openlineage.io/spec/facets/{file}.json#/$defs/{kind}"
    return {"_producer": PRODUCER, "_schemaURL": url, **content}


def own_facet(kind: str, value: Any) -> Json:
    """Write any other facet; what is no object becomes its `value`."""
    content = value if isinstance(value, dict) else {"value": value}
    return {"_producer": PRODUCER, "_schemaURL": _SPEC + kind, **content}


def own_facets(kind: str, values: Json) -> Json:
    """Write facets of one kind."""
    return {name: own_facet(kind, value) for name, value in values.items() if value is not None}


def write_event(kind: str, time: str, producer: str | None, content: Json) -> bytes:
    """Write one event of a kind: RunEvent, JobEvent or DatasetEvent."""
    head = {"eventTime": time, "producer": producer or PRODUCER, "schemaURL": _SPEC + kind}
    return msgspec.json.encode(head | content)

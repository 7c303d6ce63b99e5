"""Converts the datasets of legacy bodies to OpenLineage datasets."""

import re
from typing import Any, Literal

from mappers.canonical_json import JsonObject
from mappers.legacy.body_fields import BodyFields
from mappers.legacy.names import DatasetName, LegacyNamespaces, read_dataset_name
from mappers.openlineage.event_builder import custom_facet, custom_facets, standard_facet

Side = Literal["input", "output"]

_ROW_COUNT_KEYS = ("rows", "row_count", "rowCount")
_BYTE_COUNT_KEYS = ("bytes", "byte_count", "size")
_COUNT = re.compile(r"[0-9]{1,18}")


def parse_datasets(body: BodyFields, side: Side, namespaces: LegacyNamespaces) -> list[JsonObject]:
    return [parse_dataset(dataset, side, namespaces) for dataset in body.objects(f"{side}s")]


def parse_dataset(dataset: BodyFields, side: Side, namespaces: LegacyNamespaces) -> JsonObject:
    """Parse a dataset; members that are not otherwise used become facets."""
    name = read_dataset_name(dataset, namespaces)
    facets = dataset.object("facets").unread_members()
    side_facets = {kind: dataset.object(kind).unread_members() for kind in ("inputFacets", "outputFacets")}
    return build_dataset(name, dataset.unread_members() | facets, side, dataset, side_facets)


def build_dataset(
    name: DatasetName, values: JsonObject, side: Side, body: BodyFields, raw_side_facets: JsonObject | None = None
) -> JsonObject:
    """Build a dataset with version, path and statistics; every other value becomes a facet with the same name."""
    remaining_values = dict(values)
    dataset_facets = _take_version_and_path(remaining_values)
    statistics = _take_statistics(remaining_values, body)
    side_facets = {
        kind: custom_facets("DatasetFacet", facets) for kind, facets in (raw_side_facets or {}).items() if facets
    }
    if statistics:
        statistics_name = f"{side}Statistics"
        statistics_facet = standard_facet(statistics_name, statistics)
        side_facets.setdefault(f"{side}Facets", {}).setdefault(statistics_name, statistics_facet)
    dataset_facets |= custom_facets("DatasetFacet", remaining_values)
    return {**name._asdict(), "facets": dataset_facets, **side_facets}


def _take_version_and_path(values: JsonObject) -> JsonObject:
    """Remove version and path from `values`, and return them as facets."""
    facets: JsonObject = {}
    version = values.get("version")
    if isinstance(version, str | float) or (isinstance(version, int) and not isinstance(version, bool)):
        facets["version"] = standard_facet("version", {"datasetVersion": str(values.pop("version"))})
    if isinstance(values.get("path"), str):
        facets["lineageBridge_path"] = custom_facet("DatasetFacet", {"path": values.pop("path")})
    return facets


def _take_statistics(values: JsonObject, body: BodyFields) -> JsonObject:
    """Remove row and byte counts from `values`, and return them as statistics."""
    statistics: JsonObject = {}
    for statistic, keys in (("rowCount", _ROW_COUNT_KEYS), ("size", _BYTE_COUNT_KEYS)):
        key = next((candidate for candidate in keys if values.get(candidate) is not None), None)
        if key is None:
            continue
        count = _parse_count(values[key])
        if count is None:
            body.notes.append(f"{body.path_to(key)} is not a count: kept as a facet")
        else:
            statistics[statistic] = count
            del values[key]
    return statistics


def _parse_count(value: Any) -> int | None:
    if isinstance(value, str) and _COUNT.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None

"""A dataset of a legacy body as a dataset of an OpenLineage event."""

import re
from typing import Any, Literal

from mappers.canonical_json import JsonObject
from mappers.legacy.body_fields import BodyFields
from mappers.legacy.names import DatasetName, LegacyNamespaces, read_dataset_name
from mappers.openlineage.event_builder import custom_facet, custom_facets, standard_facet

Side = Literal["input", "output"]

_ROWS = ("rows", "row_count", "rowCount")
_BYTES = ("bytes", "byte_count", "size")
_COUNT = re.compile(r"[0-9]{1,18}")


def parse_datasets(body: BodyFields, side: Side, names: LegacyNamespaces) -> list[JsonObject]:
    """Read all datasets of one side of a run."""
    return [parse_dataset(dataset, side, names) for dataset in body.objects(f"{side}s")]


def parse_dataset(dataset: BodyFields, side: Side, names: LegacyNamespaces) -> JsonObject:
    """Read one dataset; what stands beside its facets is read as if it were one of them."""
    named = read_dataset_name(dataset, names)
    facets = dataset.object("facets").unread()
    own = {kind: dataset.object(kind).unread() for kind in ("inputFacets", "outputFacets")}
    return build_dataset(named, dataset.unread() | facets, side, dataset, own)


def build_dataset(
    named: DatasetName, values: JsonObject, side: Side, told: BodyFields, own: JsonObject | None = None
) -> JsonObject:
    """Write a dataset with its version, path and statistics; every other value is kept under its name."""
    rest = dict(values)
    found = _take_version_and_path(rest)
    statistics = _take_statistics(rest, told)
    sides = {kind: custom_facets("DatasetFacet", facets) for kind, facets in (own or {}).items() if facets}
    if statistics:
        sides.setdefault(f"{side}Facets", {}).setdefault(
            f"{side}Statistics", standard_facet(f"{side}Statistics", statistics)
        )
    return {**named._asdict(), "facets": found | custom_facets("DatasetFacet", rest), **sides}


def _take_version_and_path(values: JsonObject) -> JsonObject:
    found: JsonObject = {}
    version = values.get("version")
    if isinstance(version, str | float) or (isinstance(version, int) and not isinstance(version, bool)):
        found["version"] = standard_facet("version", {"datasetVersion": str(values.pop("version"))})
    if isinstance(values.get("path"), str):
        found["lineageBridge_path"] = custom_facet("DatasetFacet", {"path": values.pop("path")})
    return found


def _take_statistics(values: JsonObject, told: BodyFields) -> JsonObject:
    statistics: JsonObject = {}
    for name, keys in (("rowCount", _ROWS), ("size", _BYTES)):
        key = next((key for key in keys if values.get(key) is not None), None)
        if key is None:
            continue
        count = _count(values[key])
        if count is None:
            told.notes.append(f"{told.path_to(key)} is no count: kept as it is")
        else:
            statistics[name] = count
            del values[key]
    return statistics


def _count(value: Any) -> int | None:
    if isinstance(value, str) and _COUNT.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None

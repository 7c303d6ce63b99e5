"""A dataset of a legacy body as a dataset of an OpenLineage event."""

import re
from typing import Any, Literal

from mappers.legacy.fields import Fields
from mappers.legacy.names import DatasetName, LegacyNames, read_dataset_name
from mappers.openlineage.documents import Json, own_facet, own_facets, spec_facet

Side = Literal["input", "output"]

_ROWS = ("rows", "row_count", "rowCount")
_BYTES = ("bytes", "byte_count", "size")
_COUNT = re.compile(r"[0-9]{1,18}")


def read_datasets(body: Fields, side: Side, names: LegacyNames) -> list[Json]:
    """Read all datasets of one side of a run."""
    return [read_dataset(dataset, side, names) for dataset in body.each(f"{side}s")]


def read_dataset(dataset: Fields, side: Side, names: LegacyNames) -> Json:
    """Read one dataset; what stands beside its facets is read as if it were one of them."""
    named = read_dataset_name(dataset, names)
    facets = dataset.inside("facets").rest()
    own = {kind: dataset.inside(kind).rest() for kind in ("inputFacets", "outputFacets")}
    return write_dataset(named, dataset.rest() | facets, side, dataset, own)


def write_dataset(named: DatasetName, values: Json, side: Side, told: Fields, own: Json | None = None) -> Json:
    """Write a dataset with its version, path and statistics; every other value is kept under its name."""
    rest = dict(values)
    found = _take_version_and_path(rest)
    statistics = _take_statistics(rest, told)
    sides = {kind: own_facets("DatasetFacet", facets) for kind, facets in (own or {}).items() if facets}
    if statistics:
        sides.setdefault(f"{side}Facets", {}).setdefault(
            f"{side}Statistics", spec_facet(f"{side}Statistics", statistics)
        )
    return {**named._asdict(), "facets": found | own_facets("DatasetFacet", rest), **sides}


def _take_version_and_path(values: Json) -> Json:
    found: Json = {}
    version = values.get("version")
    if isinstance(version, str | float) or (isinstance(version, int) and not isinstance(version, bool)):
        found["version"] = spec_facet("version", {"datasetVersion": str(values.pop("version"))})
    if isinstance(values.get("path"), str):
        found["lineageBridge_path"] = own_facet("DatasetFacet", {"path": values.pop("path")})
    return found


def _take_statistics(values: Json, told: Fields) -> Json:
    statistics: Json = {}
    for name, keys in (("rowCount", _ROWS), ("size", _BYTES)):
        key = next((key for key in keys if values.get(key) is not None), None)
        if key is None:
            continue
        count = _count(values[key])
        if count is None:
            told.notes.append(f"{told.at(key)} is no count: kept as it is")
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

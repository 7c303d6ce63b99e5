"""Writes column lineage from events."""

from tests.standins.marquez.errors import Conflict
from tests.standins.marquez.tables import ColumnEdge, Field, Json, Run, Version


def column_edges(facets: Json, fields: list[Field], version: Version, run: Run | None) -> None:
    """Store the column lineage of a written dataset, restricted to columns that the run has read."""
    lineage = (facets.get("columnLineage") or {}).get("fields") or {}
    columns = {column.name: column for column in fields}
    for name, entry in lineage.items():
        if name not in columns or entry is None:
            continue
        for edge in _edges(columns[name], entry, version, run):
            version.columns[id(edge.to), edge.version.uuid, id(edge.source)] = edge


def _edges(to: Field, entry: Json, version: Version, run: Run | None) -> list[ColumnEdge]:
    run_columns = [] if run is None else [(v, column) for v in run.inputs.values() for column in v.fields.values()]
    if run_columns and entry["inputFields"] is None:
        raise Conflict("inputFields is null")
    inputs = {(field["namespace"], field["name"], field["field"]) for field in entry["inputFields"] or ()}
    description, type_ = entry["transformationDescription"], entry["transformationType"]
    return [
        ColumnEdge(version, to, source_version, source, description, type_)
        for source_version, source in run_columns
        if (*source_version.name, source.name) in inputs
    ]

"""Columns that columns are made of, as events tell it."""

from tests.standins.marquez.errors import Conflict
from tests.standins.marquez.tables import ColumnEdge, Field, Json, Run, Version


def column_edges(facets: Json, fields: list[Field], version: Version, run: Run | None) -> None:
    """Keep from what the columns of a written dataset are made: of those columns that the run has read."""
    told = (facets.get("columnLineage") or {}).get("fields") or {}
    known = {column.name: column for column in fields}
    for name, made in told.items():
        if name not in known or made is None:
            continue
        for edge in _edges(known[name], made, version, run):
            version.columns[id(edge.to), edge.version.uuid, id(edge.source)] = edge


def _edges(to: Field, made: Json, version: Version, run: Run | None) -> list[ColumnEdge]:
    read = [] if run is None else [(v, column) for v in run.inputs.values() for column in v.fields.values()]
    if read and made["inputFields"] is None:
        raise Conflict("inputFields is null")
    told = {(one["namespace"], one["name"], one["field"]) for one in made["inputFields"] or ()}
    description, type_ = made["transformationDescription"], made["transformationType"]
    return [
        ColumnEdge(version, to, source_version, source, description, type_)
        for source_version, source in read
        if (*source_version.name, source.name) in told
    ]

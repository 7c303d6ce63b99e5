"""Calls about the profiles of tables, of their columns, and of what was done to them."""

import base64

from tests.standins.openmetadata.columns import by_path
from tests.standins.openmetadata.errors import ApiError, no_entity, no_route, not_found, violated
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.kinds import BY_NAME
from tests.standins.openmetadata.names import normal
from tests.standins.openmetadata.quality_shapes import PROFILE
from tests.standins.openmetadata.state import Data, Entity, Profiles
from tests.standins.openmetadata.views import View, render

_KIND = BY_NAME["table"]
_WRITTEN = View(href=False)
_LATEST = View(href=False, reference_href=False)
_NOTHING = Profiles()


def put(call: Call) -> ApiResponse:
    """Store profiles; nothing is replaced, not even a profile of the same moment."""
    request: Data = call.read(PROFILE)
    table = call.store.get(_KIND, call.args["id"])
    if table is None:
        raise no_entity(_KIND.name, call.args["id"])
    if table.deleted:
        raise not_found(_KIND.name, call.args["id"])
    columns = by_path(table.data["columns"])
    for row in request.get("columnProfile", []):
        if row["name"] not in columns:
            raise ApiError(400, f"Invalid column name {row['name']}")
    kept = call.store.profiles.setdefault(table.id, Profiles())
    row = {"profileSampleType": "PERCENTAGE", **request["tableProfile"]}
    kept.table.append(row)
    for one in request.get("columnProfile", []):
        kept.column.setdefault(one["name"], []).append(one)
    kept.system += request.get("systemProfile", [])
    return ApiResponse(body={**render(call.base, table, _WRITTEN), "profile": row}, etag=True)


def _table(call: Call, fqn: str) -> Entity:
    found = call.store.find(_KIND, fqn)
    if found is None:
        raise no_entity(_KIND.name, fqn)
    if found.deleted:
        raise not_found(_KIND.name, fqn)
    return found


def _newest_first(rows: list[Data]) -> list[Data]:
    """Sort by time; of one moment, what came first is first."""
    return sorted(rows, key=lambda row: -int(row.get("timestamp", 0)))


def of_table(call: Call) -> ApiResponse:
    table = _table(call, call.args["fqn"])
    return _between(call, call.store.profiles.get(table.id, _NOTHING).table)


def of_system(call: Call) -> ApiResponse:
    table = _table(call, call.args["fqn"])
    return _between(call, call.store.profiles.get(table.id, _NOTHING).system)


def of_column(call: Call) -> ApiResponse:
    """Answer the profiles of a column, which its fully qualified name leads to."""
    fqn = normal(call.args["fqn"])
    tables = call.store.by_name[_KIND.name]
    table = next((tables[fqn[:at]] for at, char in enumerate(fqn) if char == "." and fqn[:at] in tables), None)
    if table is None or table.deleted:
        raise no_entity(_KIND.name, fqn)
    paths = {column["fullyQualifiedName"]: path for path, column in by_path(table.data["columns"]).items()}
    return _between(call, call.store.profiles.get(table.id, _NOTHING).column.get(paths.get(fqn, ""), []))


def _between(call: Call, rows: list[Data]) -> ApiResponse:
    missing = [name for name in ("startTs", "endTs") if name not in call.query]
    if missing:
        raise violated(*(f"{name} must not be null" for name in missing))
    start, end = call.number("startTs"), call.number("endTs")
    found = [row for row in _newest_first(rows) if start <= row.get("timestamp", 0) <= end]
    paging = {"before": _cursor(start), "after": _cursor(end), "total": len(found)}
    return ApiResponse(body={"data": found, "paging": paging})


def _cursor(at: int) -> str:
    return base64.b64encode(str(at).encode()).decode()


def latest(call: Call) -> ApiResponse:
    """Show a table with its newest profile, and its columns with theirs; without the service, and without links."""
    table = _table(call, call.args["fqn"])
    kept = call.store.profiles.get(table.id, _NOTHING)
    out = render(call.base, table, _LATEST)
    del out["service"]
    if kept.table:
        out["profile"] = _newest_first(kept.table)[0]
    if call.query.get("includeColumnProfile", "true").lower() == "true":
        out["columns"] = _measured(table.data["columns"], kept, "")
    return ApiResponse(body=out)


def _measured(columns: list[Data], kept: Profiles, above: str) -> list[Data]:
    out = []
    for column in columns:
        path = above + column["name"]
        shown = {**column, "children": _measured(column["children"], kept, f"{path}.")}
        if rows := kept.column.get(path):
            shown["profile"] = _newest_first(rows)[0]
        out.append(shown)
    return out


def delete(call: Call) -> ApiResponse:
    """Remove the profiles that a table has of one moment."""
    table = _table(call, call.args["fqn"])
    if not call.args["timestamp"].isdecimal():
        raise no_route()
    kept = call.store.profiles.get(table.id, _NOTHING)
    kept.table[:] = [row for row in kept.table if row["timestamp"] != int(call.args["timestamp"])]
    return ApiResponse()

"""Handlers of table, column and system profiles."""

import base64

from tests.standins.openmetadata.columns import by_path
from tests.standins.openmetadata.errors import ApiError, no_entity, no_route, not_found, validation_error
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.kinds import BY_NAME
from tests.standins.openmetadata.names import normalize_fqn
from tests.standins.openmetadata.quality_shapes import LAST_RUN, PROFILE
from tests.standins.openmetadata.state import Data, Entity, Profiles
from tests.standins.openmetadata.views import View, render

_KIND = BY_NAME["table"]
_WRITTEN = View(href=False)
_LATEST = View(href=False, reference_href=False)
_NO_PROFILES = Profiles()


def _table_by_id(call: Call) -> Entity:
    table = call.store.get(_KIND, call.args["id"])
    if table is None:
        raise no_entity(_KIND.name, call.args["id"])
    if table.deleted:
        raise not_found(_KIND.name, call.args["id"])
    return table


def put_last_run(call: Call) -> ApiResponse:
    """Set the last run of a pipeline. Unverified: no recording covers it; the shape is that of the Python models."""
    request: Data = call.read(LAST_RUN)
    table = _table_by_id(call)
    pipeline = call.store.find(BY_NAME["pipeline"], call.args["fqn"])
    if pipeline is None or pipeline.deleted:
        raise not_found("pipeline", call.args["fqn"])
    call.store.last_runs.setdefault(table.id, {})[pipeline.fqn] = request
    return ApiResponse(body=render(call.base, table, _WRITTEN), etag=True)


def read_last_runs(call: Call) -> ApiResponse:
    return ApiResponse(body=list(call.store.last_runs.get(_table_by_id(call).id, {}).values()))


def put(call: Call) -> ApiResponse:
    """Append profiles; even a profile with the same timestamp is not replaced."""
    request: Data = call.read(PROFILE)
    table = _table_by_id(call)
    columns = by_path(table.data["columns"])
    for row in request.get("columnProfile", []):
        if row["name"] not in columns:
            raise ApiError(400, f"Invalid column name {row['name']}")
    profiles = call.store.profiles.setdefault(table.id, Profiles())
    row = {"profileSampleType": "PERCENTAGE", **request["tableProfile"]}
    profiles.table.append(row)
    for column_row in request.get("columnProfile", []):
        profiles.column.setdefault(column_row["name"], []).append(column_row)
    profiles.system += request.get("systemProfile", [])
    return ApiResponse(body={**render(call.base, table, _WRITTEN), "profile": row}, etag=True)


def _table(call: Call, fqn: str) -> Entity:
    found = call.store.find(_KIND, fqn)
    if found is None:
        raise no_entity(_KIND.name, fqn)
    if found.deleted:
        raise not_found(_KIND.name, fqn)
    return found


def _newest_first(rows: list[Data]) -> list[Data]:
    """Sort by descending timestamp; equal timestamps stay in order of arrival."""
    return sorted(rows, key=lambda row: -int(row.get("timestamp", 0)))


def read_table(call: Call) -> ApiResponse:
    table = _table(call, call.args["fqn"])
    return _between(call, call.store.profiles.get(table.id, _NO_PROFILES).table)


def read_system(call: Call) -> ApiResponse:
    table = _table(call, call.args["fqn"])
    return _between(call, call.store.profiles.get(table.id, _NO_PROFILES).system)


def read_column(call: Call) -> ApiResponse:
    """Return the profiles of a column, found by FQN."""
    fqn = normalize_fqn(call.args["fqn"])
    tables = call.store.by_name[_KIND.name]
    table = next(
        (tables[fqn[:position]] for position, char in enumerate(fqn) if char == "." and fqn[:position] in tables),
        None,
    )
    if table is None or table.deleted:
        raise no_entity(_KIND.name, fqn)
    paths = {column["fullyQualifiedName"]: path for path, column in by_path(table.data["columns"]).items()}
    return _between(call, call.store.profiles.get(table.id, _NO_PROFILES).column.get(paths.get(fqn, ""), []))


def _between(call: Call, rows: list[Data]) -> ApiResponse:
    missing = [name for name in ("startTs", "endTs") if name not in call.query]
    if missing:
        raise validation_error(*(f"{name} must not be null" for name in missing))
    start, end = call.number("startTs"), call.number("endTs")
    found = [row for row in _newest_first(rows) if start <= row.get("timestamp", 0) <= end]
    paging = {"before": _cursor(start), "after": _cursor(end), "total": len(found)}
    return ApiResponse(body={"data": found, "paging": paging})


def _cursor(timestamp: int) -> str:
    return base64.b64encode(str(timestamp).encode()).decode()


def latest(call: Call) -> ApiResponse:
    """Return a table and its columns with their newest profiles, without service and links."""
    table = _table(call, call.args["fqn"])
    profiles = call.store.profiles.get(table.id, _NO_PROFILES)
    out = render(call.base, table, _LATEST)
    del out["service"]
    if profiles.table:
        out["profile"] = _newest_first(profiles.table)[0]
    if call.query.get("includeColumnProfile", "true").lower() == "true":
        out["columns"] = _with_profiles(table.data["columns"], profiles, "")
    return ApiResponse(body=out)


def _with_profiles(columns: list[Data], profiles: Profiles, prefix: str) -> list[Data]:
    out = []
    for column in columns:
        path = prefix + column["name"]
        rendered = {**column, "children": _with_profiles(column["children"], profiles, f"{path}.")}
        if rows := profiles.column.get(path):
            rendered["profile"] = _newest_first(rows)[0]
        out.append(rendered)
    return out


def delete(call: Call) -> ApiResponse:
    """Delete the table profiles with a timestamp."""
    return _delete(call, _stored(call).table)


def delete_system(call: Call) -> ApiResponse:
    """Delete the system profiles with a timestamp. Unverified: no recording covers it, only the server's source."""
    return _delete(call, _stored(call).system)


def _stored(call: Call) -> Profiles:
    return call.store.profiles.get(_table(call, call.args["fqn"]).id, _NO_PROFILES)


def _delete(call: Call, rows: list[Data]) -> ApiResponse:
    if not call.args["timestamp"].isdecimal():
        raise no_route()
    rows[:] = [row for row in rows if row["timestamp"] != int(call.args["timestamp"])]
    return ApiResponse()

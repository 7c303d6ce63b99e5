"""Bulk writes: rows are independent; the status is 200 even if every row failed."""

from typing import Any

from tests.standins.openmetadata import entities
from tests.standins.openmetadata.columns import fill_lists
from tests.standins.openmetadata.errors import ApiError, Unreadable, invalid_format, validation_error
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.kinds import RELATIONS, Kind
from tests.standins.openmetadata.labels import add_label_times
from tests.standins.openmetadata.state import Data
from tests.standins.openmetadata.versions import Outcome, last_change
from tests.standins.openmetadata.views import View, render

#: View of an entity in the event of a row.
_ROW = View(if_set=RELATIONS, href=False, reference_href=False)
_NULL_ROW = "HV000116: The object to be validated must not be null."


def replace(call: Call, kind: Kind) -> ApiResponse:
    """Create or replace many entities."""
    rows = call.json()
    if not isinstance(rows, list):
        raise invalid_format()
    parsed = [_parse_row(kind, row) for row in rows]
    background = call.flag("async")
    status = 202 if background else 200
    passed, failed = [], []
    for row, faults in parsed:
        try:
            fqn = _write(call, kind, row, faults)
            passed.append({"request": fqn, "status": status, "hasSideEffects": False})
        except ApiError as error:
            failed.append(_failed(kind, row, error))
    return ApiResponse(status, _result(passed, failed, background))


def _parse_row(kind: Kind, row: Any) -> tuple[Data | None, list[str]]:
    """Parse a row; an unreadable one fails the whole request."""
    if row is None:
        return None, []
    faults: list[str] = []
    try:
        read = kind.shape(row, faults)
    except Unreadable:
        raise invalid_format() from None
    fill_lists(read.get("columns", []))
    return read, faults


def _write(call: Call, kind: Kind, row: Data | None, faults: list[str]) -> str:
    if row is None:
        raise ApiError(400, _NULL_ROW)
    if faults:
        raise validation_error(*sorted(set(faults)), prefix="")
    if (reason := call.failing.get(row["name"])) is not None:
        raise ApiError(400, reason)
    store, override = call.store, call.flag("overrideMetadata")
    prepared = entities.prepare(store, kind, row)
    entity = entities.find_existing(store, prepared)
    if entity is not None and not override and not entity.deleted:
        source_hash = row.get("sourceHash")
        if source_hash is not None and source_hash == entity.data.get("sourceHash"):
            return entity.fqn
    outcome = entities.put(store, prepared, call.principal, bulk=True, override=override)
    _record_event(call, kind, outcome)
    outcome.entity.data = add_label_times(outcome.entity.data, store.governance, call.principal.name)
    return outcome.entity.fqn


def _record_event(call: Call, kind: Kind, outcome: Outcome) -> None:
    if outcome.change == "entityNoChange":
        return
    body = render("", outcome.entity, _ROW, outcome.data)
    new = outcome.change == "entityCreated"
    body |= {name: [] for name in kind.empty_on_create if name not in body}
    call.store.events.record(
        outcome.change, kind.name, body, call.principal.name, None if new else last_change(outcome.entity.data)
    )


def _failed(kind: Kind, row: Data | None, error: ApiError) -> Data:
    request = {} if row is None else {"request": {**kind.request_defaults, **row}}
    return {**request, "message": error.message, "status": 400, "hasSideEffects": False}


def _result(passed: list[Data], failed: list[Data], background: bool) -> Data:
    status = "failure" if not passed else "partialSuccess" if failed else "success"
    out: Data = {
        "status": status,
        "numberOfRowsProcessed": len(passed) + len(failed),
        "numberOfRowsPassed": 0 if background else len(passed),
        "numberOfRowsFailed": len(failed),
    }
    if passed:
        out["successRequest"] = passed
    return out | {"failedRequest": failed}

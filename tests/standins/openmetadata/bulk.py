"""Bulk writes: each row for itself; the answer is 200 even if every row failed."""

from typing import Any

from tests.standins.openmetadata import entities
from tests.standins.openmetadata.columns import with_lists
from tests.standins.openmetadata.errors import ApiError, Unreadable, unreadable, violated
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.kinds import RELATIONS, Kind
from tests.standins.openmetadata.labels import stamped
from tests.standins.openmetadata.state import Data
from tests.standins.openmetadata.versions import Outcome, change_of
from tests.standins.openmetadata.views import View, render

#: How events show what a row has written.
_ROW = View(if_set=RELATIONS, href=False, reference_href=False)
_NULL_ROW = "HV000116: The object to be validated must not be null."


def replace(call: Call, kind: Kind) -> ApiResponse:
    """Make or replace many entities."""
    rows = call.json()
    if not isinstance(rows, list):
        raise unreadable()
    read = [_read(kind, row) for row in rows]
    background = call.flag("async")
    status = 202 if background else 200
    good, bad = [], []
    for row, faults in read:
        try:
            fqn = _write(call, kind, row, faults)
            good.append({"request": fqn, "status": status, "hasSideEffects": False})
        except ApiError as error:
            bad.append(_failed(kind, row, error))
    return ApiResponse(status, _result(good, bad, background))


def _read(kind: Kind, row: Any) -> tuple[Data | None, list[str]]:
    """Read a row; one that does not fit the type fails the whole request."""
    if row is None:
        return None, []
    faults: list[str] = []
    try:
        read = kind.shape(row, faults)
    except Unreadable:
        raise unreadable() from None
    with_lists(read.get("columns", []))
    return read, faults


def _write(call: Call, kind: Kind, row: Data | None, faults: list[str]) -> str:
    if row is None:
        raise ApiError(400, _NULL_ROW)
    if faults:
        raise violated(*sorted(set(faults)), prefix="")
    if (reason := call.failing.get(row["name"])) is not None:
        raise ApiError(400, reason)
    store, override = call.store, call.flag("overrideMetadata")
    wanted = entities.prepare(store, kind, row)
    entity = entities.existing(store, wanted)
    if entity is not None and not override and not entity.deleted:
        given = row.get("sourceHash")
        if given is not None and given == entity.data.get("sourceHash"):
            return entity.fqn
    outcome = entities.put(store, wanted, call.who, bulk=True, override=override)
    _note(call, kind, outcome)
    outcome.entity.data = stamped(outcome.entity.data, store.governance, call.who.name)
    return outcome.entity.fqn


def _note(call: Call, kind: Kind, outcome: Outcome) -> None:
    if outcome.change == "entityNoChange":
        return
    body = render("", outcome.entity, _ROW, outcome.data)
    new = outcome.change == "entityCreated"
    body |= {name: [] for name in kind.created if name not in body}
    call.store.events.note(
        outcome.change, kind.name, body, call.who.name, None if new else change_of(outcome.entity.data)
    )


def _failed(kind: Kind, row: Data | None, error: ApiError) -> Data:
    quoted = {} if row is None else {"request": {**kind.request_defaults, **row}}
    return {**quoted, "message": error.message, "status": 400, "hasSideEffects": False}


def _result(good: list[Data], bad: list[Data], background: bool) -> Data:
    status = "failure" if not good else "partialSuccess" if bad else "success"
    out: Data = {
        "status": status,
        "numberOfRowsProcessed": len(good) + len(bad),
        "numberOfRowsPassed": 0 if background else len(good),
        "numberOfRowsFailed": len(bad),
    }
    if good:
        out["successRequest"] = good
    return out | {"failedRequest": bad}

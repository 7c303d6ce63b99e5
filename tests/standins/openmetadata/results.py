"""Handlers of test results, identified by timestamp."""

from urllib.parse import quote

from tests.standins.openmetadata.cases import render_written
from tests.standins.openmetadata.changes import Change, next_version
from tests.standins.openmetadata.checks import Case, Data, Incident, new_id
from tests.standins.openmetadata.errors import ApiError, no_entity, no_route, not_found
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.quality_shapes import RESULT


def _case(call: Call) -> Case:
    """Find the test case; for a deleted one, the server reports its table as missing."""
    found = call.store.checks.case(call.args["fqn"])
    if found is None:
        raise no_entity("testCase", call.args["fqn"])
    if found.deleted:
        raise not_found("table", found.suite.table)
    return found


def post(call: Call) -> ApiResponse:
    """Store a result; an existing timestamp is rejected."""
    request: Data = call.read(RESULT)
    case = _case(call)
    _check_incident(call, case)
    if request["timestamp"] in case.results:
        raise ApiError(409, "Entity already exists")
    row = {"id": new_id(), "testCaseFQN": case.fqn, "testResultValue": [], "dimensionResults": [], **request}
    for name in ("fqn", "incidentId"):
        row.pop(name, None)
    if row["testCaseStatus"] == "Failed":
        row["incidentId"] = call.store.checks.incidents.setdefault(case.fqn, Incident(case.id)).state
    case.results[row["timestamp"]] = row
    _record_event(call, case, row)
    location = f"{call.base}/api/v1/dataQuality/testCases/testCaseResults/{quote(call.args['fqn'])}"
    return ApiResponse(201, row, {"Location": location})


def _check_incident(call: Call, case: Case) -> None:
    """Fail like the server if a deleted test case of the same name left an open incident."""
    incident = call.store.checks.incidents.get(case.fqn)
    if incident is not None and incident.case != case.id:
        message = (
            f"Entity type testCaseResolutionStatus {incident.id} does not have expected relationship parentOf to/from "
            "entity type testCase"
        )
        raise ApiError(500, f"An exception with message [{message}] was thrown while processing request.")


def _record_event(call: Call, case: Case, row: Data) -> None:
    """Create a version of the test case. Its status is that of the result that arrived last, even if that is older."""
    change = Change()
    old, new = case.data.get("testCaseStatus"), row["testCaseStatus"]
    change.scalar("testCaseStatus", old, new)
    change.add("testCaseResult", row)
    description = change.describe(case.data["version"], {})
    version = next_version(case.data["version"], change)
    descriptions = dict.fromkeys(("changeDescription", "incrementalChangeDescription"), description)
    event_change = Change()
    event_change.updated.append({"name": "testCaseResult", "newValue": row})
    before = case.data["version"]
    case.data = {**case.data, **descriptions, "testCaseStatus": new, "version": version}
    body = {**render_written(call, case, case.data, links=False), "reviewers": [], "testCaseResult": row}
    if "incidentId" in row:
        body["incidentId"] = row["incidentId"]
    timestamp = row["timestamp"]
    call.store.events.record(
        "entityUpdated", "testCase", body, call.principal.name, event_change.describe(before, None), at=timestamp
    )


def read(call: Call) -> ApiResponse:
    """List results, optionally of a time range, newest first."""
    case = _case(call)
    newest = max(case.results, default=0)
    start, end = call.number("startTs", min(case.results, default=0)), call.number("endTs", newest)
    rows = [case.results[timestamp] for timestamp in sorted(case.results, reverse=True) if start <= timestamp <= end]
    return ApiResponse(body={"data": rows, "paging": {"total": len(rows)}})


def delete(call: Call) -> ApiResponse:
    """Delete a result; the status of the test case does not change."""
    case = _case(call)
    if not call.args["timestamp"].isdecimal():
        raise no_route()
    row = case.results.pop(int(call.args["timestamp"]), None)
    if row is None:
        raise ApiError(404, f"Failed to find testCase result for {case.name} at {call.args['timestamp']}")
    return ApiResponse(body=row, headers={"X-OpenMetadata-Change": "entityDeleted"})

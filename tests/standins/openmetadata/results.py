"""Calls about the results of test cases, told apart by their timestamps."""

from tests.standins.openmetadata.cases import written
from tests.standins.openmetadata.changes import Change, next_version
from tests.standins.openmetadata.checks import Case, Data, Incident, new_id
from tests.standins.openmetadata.errors import ApiError, no_entity, no_route, not_found
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.quality_shapes import RESULT


def _case(call: Call) -> Case:
    """Find the test case; one that is deleted is told by its table, which is looked for next."""
    found = call.store.checks.case(call.args["fqn"])
    if found is None:
        raise no_entity("testCase", call.args["fqn"])
    if found.deleted:
        raise not_found("table", found.suite.table)
    return found


def post(call: Call) -> ApiResponse:
    """Store a result; the same timestamp again is refused, not replaced."""
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
    _note(call, case, row)
    where = f"{call.base}/api/v1/dataQuality/testCases/testCaseResults/{call.args['fqn']}"
    return ApiResponse(201, row, {"Location": where})


def _check_incident(call: Call, case: Case) -> None:
    """Fail where an incident is still open of a test case of this name that is gone: the server gets lost in it."""
    incident = call.store.checks.incidents.get(case.fqn)
    if incident is not None and incident.case != case.id:
        told = (
            f"Entity type testCaseResolutionStatus {incident.id} does not have expected relationship parentOf to/from "
            "entity type testCase"
        )
        raise ApiError(500, f"An exception with message [{told}] was thrown while processing request.")


def _note(call: Call, case: Case, row: Data) -> None:
    """Make a version of the test case: its status is that of the last arrival, even of an older result."""
    change = Change()
    old, new = case.data.get("testCaseStatus"), row["testCaseStatus"]
    change.scalar("testCaseStatus", old, new)
    change.add("testCaseResult", row)
    described = change.described(case.data["version"], {})
    version = next_version(case.data["version"], change)
    both = dict.fromkeys(("changeDescription", "incrementalChangeDescription"), described)
    told = Change()
    told.updated.append({"name": "testCaseResult", "newValue": row})
    before = case.data["version"]
    case.data = {**case.data, **both, "testCaseStatus": new, "version": version}
    body = {**written(call, case, case.data, links=False), "reviewers": [], "testCaseResult": row}
    if "incidentId" in row:
        body["incidentId"] = row["incidentId"]
    moment = row["timestamp"]
    call.store.events.note("entityUpdated", "testCase", body, call.who.name, told.described(before, None), at=moment)


def read(call: Call) -> ApiResponse:
    """List the results of a time, or all of them, the newest first."""
    case = _case(call)
    newest = max(case.results, default=0)
    start, end = call.number("startTs", min(case.results, default=0)), call.number("endTs", newest)
    rows = [case.results[at] for at in sorted(case.results, reverse=True) if start <= at <= end]
    return ApiResponse(body={"data": rows, "paging": {"total": len(rows)}})


def delete(call: Call) -> ApiResponse:
    """Remove a result; the status that it gave the test case stays."""
    case = _case(call)
    if not call.args["timestamp"].isdecimal():
        raise no_route()
    row = case.results.pop(int(call.args["timestamp"]), None)
    if row is None:
        raise ApiError(404, f"Failed to find testCase result for {case.name} at {call.args['timestamp']}")
    return ApiResponse(body=row, headers={"X-OpenMetadata-Change": "entityDeleted"})

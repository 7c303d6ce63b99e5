"""Calls about test cases: checks on tables and their columns; owners, reviewers and tags are not kept."""

from tests.standins.openmetadata.checks import Case, Data, Definition, Suite
from tests.standins.openmetadata.columns import by_path
from tests.standins.openmetadata.definitions import revised
from tests.standins.openmetadata.errors import ApiError, no_entity, not_found
from tests.standins.openmetadata.exchange import ApiResponse, Call, check_include
from tests.standins.openmetadata.kinds import BY_NAME
from tests.standins.openmetadata.lists import checked_limit, page_of
from tests.standins.openmetadata.names import joined, quoted
from tests.standins.openmetadata.quality_shapes import CASE
from tests.standins.openmetadata.state import Entity

_OWN = (
    "displayName",
    "description",
    "parameterValues",
    "computePassedFailedRowCount",
    "useDynamicAssertion",
    "dimensionColumns",
    "topDimensions",
)
_DEFAULTS: Data = {
    "parameterValues": [],
    "computePassedFailedRowCount": False,
    "useDynamicAssertion": False,
    "dimensionColumns": [],
    "topDimensions": 5,
}
_EMPTY = ("testSuites", "owners", "domains", "dataProducts", "followers", "tags")
_FIELDS = {*_EMPTY, "reviewers", "entityStatus", "testSuite", "testDefinition", "testCaseResult", "incidentId"}


def linked(call: Call, link: str) -> tuple[Entity, list[str]]:
    """Find the table that a link is about, and the parts of the link after it; nothing else takes tests."""
    kind_name, fqn, *rest = link.removeprefix("<#E::").removesuffix(">").split("::")
    kind = BY_NAME.get(kind_name)
    if kind is None:
        raise ApiError(404, f"Entity repository for {kind_name} not found. Is the ENTITY_TYPE_MAP initialized?")
    entity = call.store.find(kind, fqn)
    if entity is None or entity.deleted:
        raise not_found(kind_name, fqn)
    if "columns" not in kind.fields:
        raise ApiError(400, "Invalid field name columns")
    return entity, rest


def _subject(call: Call, link: str) -> tuple[Entity, str]:
    """Find what a link is about: the table, and the name of it or of its column, which gets no quotes."""
    table, rest = linked(call, link)
    if rest[:1] != ["columns"] or len(rest) < 2:
        return table, table.fqn
    if rest[1] not in by_path(table.data["columns"]):
        raise ApiError(400, f"Invalid column name {rest[1]}")
    return table, f"{table.fqn}.{rest[1]}"


def _definition(call: Call, request: Data) -> Definition:
    """Find the definition, and check the parameters against it; its level is not looked at."""
    found = call.store.checks.definition(request["testDefinition"])
    if found is None:
        raise no_entity("testDefinition", request["testDefinition"])
    given = {one.get("name"): one.get("value") for one in request.get("parameterValues", [])}
    known = {one.get("name"): one for one in found.data["parameterDefinition"]}
    if given and not known:
        raise ApiError(400, "Parameter Values doesn't match Test Definition Parameters")
    if "GreatExpectations" in found.data["testPlatforms"]:
        return found
    for name in given:
        if name not in known:
            names = ", ".join(str(one) for one in known)
            text = f"Parameter '{name}' is not defined in the test definition. Defined parameters are: [{names}]"
            raise ApiError(400, text)
    for name, one in known.items():
        if one.get("required") and given.get(name) is None:
            raise ApiError(400, f"Required parameter {name} is not passed in parameterValues")
    return found


def put(call: Call) -> ApiResponse:
    return _write(call, only_new=False)


def create(call: Call) -> ApiResponse:
    return _write(call, only_new=True)


def _write(call: Call, only_new: bool) -> ApiResponse:
    request: Data = call.read(CASE)
    table, subject = _subject(call, request["entityLink"])
    definition = _definition(call, request)
    wanted = _DEFAULTS | {name: request[name] for name in ("name", "entityLink", *_OWN) if name in request}
    known = call.store.checks
    case = known.cases.get(joined(subject, request["name"]))
    if case is None:
        suite = known.suites.setdefault(table.id, Suite(table.fqn))
        case = Case(_new(call, wanted, subject), definition, suite)
        known.add(case)
        body = written(call, case, case.data)
        call.store.events.note("entityCreated", "testCase", body, call.who.name)
        return ApiResponse(201, body, {"X-OpenMetadata-Change": "entityCreated"}, etag=True)
    if only_new:
        raise ApiError(409, "Entity already exists")
    shown, word = revised(case.data, wanted, _OWN, call)
    case.definition = definition
    if word == "entityUpdated":
        case.data = shown
    body = {**written(call, case, shown), "reviewers": []}
    call.store.events.note(word, "testCase", body, call.who.name, shown["incrementalChangeDescription"])
    return ApiResponse(200, body, {"X-OpenMetadata-Change": word}, etag=True)


def _new(call: Call, wanted: Data, subject: str) -> Data:
    return {
        **wanted,
        "fullyQualifiedName": f"{subject}.{quoted(wanted['name'])}",
        "entityFQN": subject,
        "version": 0.1,
        "createdBy": call.who.name,
        "updatedAt": call.store.now(),
        "updatedBy": call.who.name,
        "deleted": False,
        "autoCloseIncident": False,
        "entityStatus": "Unprocessed",
    }


def written(call: Call, case: Case, data: Data, links: bool = True) -> Data:
    """Show a test case as the answers to writes do; events leave out the addresses of some."""
    return _shown(call, case, {*_EMPTY, "testSuite", "testDefinition"}, data, links)


def _shown(call: Call, case: Case, fields: set[str], data: Data | None = None, links: bool = True) -> Data:
    base = call.base if links else None
    out: Data = {"id": case.id, **(data or case.data)}
    if links:
        out["href"] = f"{base}/api/v1/dataQuality/testCases/{case.id}"
    out |= {name: [] for name in (*_EMPTY, "reviewers") if name in fields}
    if "tags" in fields and (table := call.store.find(BY_NAME["table"], case.suite.table)):
        out["tags"] = table.data.get("tags", [])
    if "testDefinition" in fields:
        out["testDefinition"] = case.definition.reference(base)
    if "testSuite" in fields:
        out["testSuite"] = case.suite.reference(base)
    if "testCaseResult" in fields and (latest := case.latest()):
        out["testCaseResult"] = latest
    incident = call.store.checks.incidents.get(case.fqn)
    if "incidentId" in fields and incident and incident.case == case.id:
        out["incidentId"] = incident.state
    return out


def _fields(call: Call) -> set[str]:
    asked = {name.strip() for name in call.query.get("fields", "").split(",") if name.strip()}
    for name in sorted(asked - _FIELDS - {"*"}):
        raise ApiError(400, f"Invalid field name {name}")
    return _FIELDS if "*" in asked else asked


def read(call: Call) -> ApiResponse:
    fields, include = _fields(call), check_include(call.query)
    case = call.store.checks.case(call.args["fqn"])
    if case is None or (include != "all" and case.deleted != (include == "deleted")):
        raise not_found("testCase", call.args["fqn"])
    return ApiResponse(body=_shown(call, case, fields), etag=True)


def many(call: Call) -> ApiResponse:
    """Answer a page of test cases, of one table or column if a link is given; its columns' only if asked for."""
    fields, include = _fields(call), check_include(call.query)
    limit = checked_limit(call.number("limit", 10))
    found = [
        case
        for case in call.store.checks.cases.values()
        if include == "all" or case.deleted == (include == "deleted")
    ]
    if "entityLink" in call.query:
        table, rest = linked(call, call.query["entityLink"])
        subject = ".".join((table.fqn, *rest[1:2]))
        below = f"{subject}." if call.flag("includeAllTests") else subject
        found = [case for case in found if _is_about(case, subject, below)]
    found.sort(key=lambda case: (case.name, case.id))
    page, paging = page_of(found, limit, call.query)
    return ApiResponse(
        body={"data": [_shown(call, case, fields) for case in page], "paging": {**paging, "total": len(found)}}
    )


def _is_about(case: Case, subject: str, below: str) -> bool:
    about = str(case.data["entityFQN"])
    return about == subject or (below != subject and about.startswith(below))

"""Handlers of test cases of tables and columns; owners, reviewers and tags are not implemented."""

from tests.standins.openmetadata.checks import Case, Data, Definition, Suite
from tests.standins.openmetadata.columns import by_path
from tests.standins.openmetadata.definitions import revise
from tests.standins.openmetadata.errors import ApiError, no_entity, not_found
from tests.standins.openmetadata.exchange import ApiResponse, Call, check_include
from tests.standins.openmetadata.kinds import BY_NAME
from tests.standins.openmetadata.lists import check_limit, page_of
from tests.standins.openmetadata.names import join_fqn, quote_name
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


def resolve_link(call: Call, link: str) -> tuple[Entity, list[str]]:
    """Resolve an entity link to its table and the remaining parts; only tables have tests."""
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
    """Resolve an entity link to its table and the (unquoted) name of the table or column."""
    table, rest = resolve_link(call, link)
    if rest[:1] != ["columns"] or len(rest) < 2:
        return table, table.fqn
    if rest[1] not in by_path(table.data["columns"]):
        raise ApiError(400, f"Invalid column name {rest[1]}")
    return table, f"{table.fqn}.{rest[1]}"


def _definition(call: Call, request: Data) -> Definition:
    """Find the definition and check the parameters; the entity type is not checked."""
    found = call.store.checks.definition(request["testDefinition"])
    if found is None:
        raise no_entity("testDefinition", request["testDefinition"])
    values = {value.get("name"): value.get("value") for value in request.get("parameterValues", [])}
    parameters = {parameter.get("name"): parameter for parameter in found.data["parameterDefinition"]}
    if values and not parameters:
        raise ApiError(400, "Parameter Values doesn't match Test Definition Parameters")
    if "GreatExpectations" in found.data["testPlatforms"]:
        return found
    for name in values:
        if name not in parameters:
            names = ", ".join(str(defined) for defined in parameters)
            text = f"Parameter '{name}' is not defined in the test definition. Defined parameters are: [{names}]"
            raise ApiError(400, text)
    for name, parameter in parameters.items():
        if parameter.get("required") and values.get(name) is None:
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
    values = _DEFAULTS | {name: request[name] for name in ("name", "entityLink", *_OWN) if name in request}
    checks = call.store.checks
    case = checks.cases.get(join_fqn(subject, request["name"]))
    if case is None:
        suite = checks.suites.setdefault(table.id, Suite(table.fqn))
        case = Case(_new(call, values, subject), definition, suite)
        checks.add(case)
        body = render_written(call, case, case.data)
        call.store.events.record("entityCreated", "testCase", body, call.principal.name)
        return ApiResponse(201, body, {"X-OpenMetadata-Change": "entityCreated"}, etag=True)
    if only_new:
        raise ApiError(409, "Entity already exists")
    if case.deleted:  # a PUT restores, as for all entities
        case.data = {**case.data, "deleted": False}
    revised_data, change = revise(case.data, values, _OWN, call)
    case.definition = definition
    if change == "entityUpdated":
        case.data = revised_data
    body = {**render_written(call, case, revised_data), "reviewers": []}
    call.store.events.record(
        change, "testCase", body, call.principal.name, revised_data["incrementalChangeDescription"]
    )
    return ApiResponse(200, body, {"X-OpenMetadata-Change": change}, etag=True)


def delete(call: Call) -> ApiResponse:
    """Soft-delete a test case. Not recorded: written after the other entities."""
    case = next((case for case in call.store.checks.cases.values() if case.id == call.args["id"]), None)
    if case is None or case.deleted:
        raise no_entity("testCase", call.args["id"])
    case.data = {**case.data, "deleted": True, "updatedAt": call.store.now(), "updatedBy": call.principal.name}
    return ApiResponse(body=_render(call, case, set()), headers={"X-OpenMetadata-Change": "entitySoftDeleted"})


def _new(call: Call, values: Data, subject: str) -> Data:
    return {
        **values,
        "fullyQualifiedName": f"{subject}.{quote_name(values['name'])}",
        "entityFQN": subject,
        "version": 0.1,
        "createdBy": call.principal.name,
        "updatedAt": call.store.now(),
        "updatedBy": call.principal.name,
        "deleted": False,
        "autoCloseIncident": False,
        "entityStatus": "Unprocessed",
    }


def render_written(call: Call, case: Case, data: Data, links: bool = True) -> Data:
    """Render a test case as responses to writes do; events omit links."""
    return _render(call, case, {*_EMPTY, "testSuite", "testDefinition"}, data, links)


def _render(call: Call, case: Case, fields: set[str], data: Data | None = None, links: bool = True) -> Data:
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
    requested = {name.strip() for name in call.query.get("fields", "").split(",") if name.strip()}
    for name in sorted(requested - _FIELDS - {"*"}):
        raise ApiError(400, f"Invalid field name {name}")
    return _FIELDS if "*" in requested else requested


def read(call: Call) -> ApiResponse:
    fields, include = _fields(call), check_include(call.query)
    case = call.store.checks.case(call.args["fqn"])
    if case is None or (include != "all" and case.deleted != (include == "deleted")):
        raise not_found("testCase", call.args["fqn"])
    return ApiResponse(body=_render(call, case, fields), etag=True)


def list_cases(call: Call) -> ApiResponse:
    """Return a page of test cases, optionally of one table or column, or of a table and its columns."""
    fields, include = _fields(call), check_include(call.query)
    limit = check_limit(call.number("limit", 10))
    found = [
        case
        for case in call.store.checks.cases.values()
        if include == "all" or case.deleted == (include == "deleted")
    ]
    if "entityLink" in call.query:
        table, rest = resolve_link(call, call.query["entityLink"])
        subject = ".".join((table.fqn, *rest[1:2]))
        prefix = f"{subject}." if call.flag("includeAllTests") else subject
        found = [case for case in found if _is_about(case, subject, prefix)]
    found.sort(key=lambda case: (case.name, case.id))
    page, paging = page_of(found, limit, call.query)
    return ApiResponse(
        body={"data": [_render(call, case, fields) for case in page], "paging": {**paging, "total": len(found)}}
    )


def _is_about(case: Case, subject: str, prefix: str) -> bool:
    entity_fqn = str(case.data["entityFQN"])
    return entity_fqn == subject or (prefix != subject and entity_fqn.startswith(prefix))

"""Handlers of version, status, login and permissions."""

import base64
import binascii

from tests.standins.openmetadata.errors import ApiError
from tests.standins.openmetadata.exchange import ApiResponse, Call, check_fields
from tests.standins.openmetadata.governance_kinds import GOVERNED, USER
from tests.standins.openmetadata.kinds import KINDS
from tests.standins.openmetadata.reads import render_fields
from tests.standins.openmetadata.shapes import Shape, text
from tests.standins.openmetadata.state import Data

VERSION = "2.0.0-SNAPSHOT"
_REVISION = "b9a7ede6609c25a5f12032ed60167b057c4affbb"
_BUILT = 1794997228229
_CHECKS = ("database", "searchInstance", "pipelineServiceClient", "jwks", "migrations")
_MORE_CHECKS = ("Object Storage", "Search Reindex Status")
_OPERATIONS = (
    "Create",
    "Delete",
    "ViewAll",
    "EditAll",
    "EditDescription",
    "EditDisplayName",
    "EditTags",
    "EditLineage",
    "EditOwners",
)
_LOGIN = Shape({"email": text, "password": text}, required="email password")


def version(call: Call) -> ApiResponse:
    return ApiResponse(body={"version": call.version, "revision": _REVISION, "timestamp": _BUILT})


def status(call: Call) -> ApiResponse:
    checks = {name: {"description": name, "passed": True, "message": ""} for name in (*_CHECKS, *_MORE_CHECKS)}
    return ApiResponse(body=checks)


def logged_in(call: Call) -> ApiResponse:
    fields = check_fields(USER, call.query)
    return ApiResponse(
        body=render_fields(call, call.store.by_name[USER.name][call.principal.name], fields), etag=True
    )


def permissions(call: Call) -> ApiResponse:
    """List permissions of the principal by kind."""
    resources = [*(kind.name for kind in (*KINDS, *GOVERNED)), "lineage"]
    return ApiResponse(
        body={"data": [_permission(call, resource) for resource in resources], "paging": {"total": len(resources)}}
    )


def permission(call: Call) -> ApiResponse:
    return ApiResponse(body=_permission(call, call.args["resource"]))


def _permission(call: Call, resource: str) -> Data:
    denied = {"EditDisplayName"} if call.principal.bot else set()
    allowed = {"ViewAll"} if call.principal.reader else {*_OPERATIONS} - denied
    rows = [
        {"operation": name, "access": "allow" if name in allowed else "deny" if name in denied else "notAllow"}
        for name in _OPERATIONS
    ]
    return {"resource": resource, "permissions": rows}


def login(call: Call) -> ApiResponse:
    """Return a token; the password is base64-encoded."""
    credentials = call.read(_LOGIN)
    try:
        password = base64.b64decode(credentials["password"], validate=True).decode()
    except (binascii.Error, ValueError):
        password = ""
    token = call.logins.get((credentials["email"], password))
    if token is None:
        raise ApiError(
            401, "You have entered an invalid username or password.", errorType="INVALID_USERNAME_PASSWORD"
        )
    return ApiResponse(
        body={"accessToken": token, "refreshToken": token, "tokenType": "Bearer", "expiryDuration": 3600}
    )

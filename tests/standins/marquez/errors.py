"""Error responses of the server."""

import secrets
from typing import Any

_PAGE = """<html>
<head>
<meta http-equiv="Content-Type" content="text/html;charset=ISO-8859-1"/>
<title>Error {status} {reason}</title>
</head>
<body><h2>HTTP ERROR {status} {reason}</h2>
<table>
<tr><th>URI:</th><td>{path}</td></tr>
<tr><th>STATUS:</th><td>{status}</td></tr>
<tr><th>MESSAGE:</th><td>{reason}</td></tr>
<tr><th>SERVLET:</th><td>jersey</td></tr>
</table>

</body>
</html>
"""
_REASONS = {400: "Bad Request", 500: "Internal Server Error"}
_STANDARD = {
    404: "HTTP 404 Not Found",
    405: "HTTP 405 Method Not Allowed",
    406: "HTTP 406 Not Acceptable",
    415: "HTTP 415 Unsupported Media Type",
}


class ApiError(Exception):
    """An error response; a text body is an HTML page."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"{status} {body}")
        self.status = status
        self.body = body


class InvalidName(Exception):
    """A name that the server stores but cannot read: every call that reads it fails."""


class Conflict(Exception):
    """A row that violates a database constraint."""


def standard_error(status: int) -> ApiError:
    return ApiError(status, {"code": status, "message": _STANDARD[status]})


def not_found(kind: str, name: str, suffix: str = "") -> ApiError:
    return ApiError(404, {"code": 404, "message": f"{kind} '{name}' not found{suffix}."})


def bad_request(message: str) -> ApiError:
    return ApiError(400, {"code": 400, "message": message})


def bad_parameter(message: str) -> ApiError:
    return ApiError(400, {"errors": [f"query param {message}"]})


def validation_errors(faults: list[str]) -> ApiError:
    return ApiError(422, {"errors": faults})


def invalid_body(message: str) -> ApiError:
    """Reject a body that the server's classes cannot hold: status 500, with code 400 in the body."""
    source = "\n at [Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled)]"
    return ApiError(500, {"code": 400, "message": message + source})


def internal_error() -> ApiError:
    message = f"There was an error processing your request. It has been logged (ID {secrets.token_hex(8)})."
    return ApiError(500, {"code": 500, "message": message})


def database_error(message: str) -> ApiError:
    return ApiError(500, {"code": 500, "message": f"org.postgresql.util.PSQLException: ERROR: {message}"})


def html_error(status: int, path: str = "/api/v1/lineage", reason: str = "") -> ApiError:
    return ApiError(status, _PAGE.format(status=status, reason=reason or _REASONS[status], path=path))

"""What the server says when it refuses."""

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


class Refused(Exception):
    """An answer that is no success; a body that is a text is a page."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"{status} {body}")
        self.status = status
        self.body = body


class Illegal(Exception):
    """A name that the server cannot make an object of: wherever it is read, that call fails."""


class Conflict(Exception):
    """A row that the database does not take."""


def plain(status: int) -> Refused:
    return Refused(status, {"code": status, "message": _STANDARD[status]})


def not_found(what: str, name: str, where: str = "") -> Refused:
    return Refused(404, {"code": 404, "message": f"{what} '{name}' not found{where}."})


def bad_request(message: str) -> Refused:
    return Refused(400, {"code": 400, "message": message})


def bad_parameter(what: str) -> Refused:
    return Refused(400, {"errors": [f"query param {what}"]})


def violated(faults: list[str]) -> Refused:
    return Refused(422, {"errors": faults})


def unreadable(message: str) -> Refused:
    """Refuse a body that is not what the server's classes can hold: a 500 that says 400."""
    where = "\n at [Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled)]"
    return Refused(500, {"code": 400, "message": message + where})


def failed() -> Refused:
    said = f"There was an error processing your request. It has been logged (ID {secrets.token_hex(8)})."
    return Refused(500, {"code": 500, "message": said})


def database(message: str) -> Refused:
    return Refused(500, {"code": 500, "message": f"org.postgresql.util.PSQLException: ERROR: {message}"})


def page(status: int, path: str = "/api/v1/lineage", reason: str = "") -> Refused:
    return Refused(status, _PAGE.format(status=status, reason=reason or _REASONS[status], path=path))

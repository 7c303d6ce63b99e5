"""Error responses with the messages of the recorded server."""

from typing import Any


class ApiError(Exception):
    """An error response."""

    def __init__(self, status: int, message: str, **attributes: Any) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.attributes = attributes

    def body(self) -> dict[str, Any]:
        return {"code": self.status, **self.attributes, "message": self.message}


class Unreadable(Exception):
    """JSON that does not fit the type: unknown property, wrong type or unknown enum value."""


def invalid_format() -> ApiError:
    return ApiError(400, "Invalid request format")


def validation_error(*violations: str, prefix: str = "query param ") -> ApiError:
    """Constraint violations in the format of the server's bean validation."""
    return ApiError(400, "[" + ", ".join(prefix + violation for violation in violations) + "]")


def no_route() -> ApiError:
    return ApiError(404, "HTTP 404 Not Found")


def not_found(kind: str, key: str) -> ApiError:
    """Response to reads, PATCHes, and writes that name a soft-deleted entity."""
    return ApiError(404, f"{kind} instance for {key} not found")


def no_entity(kind: str, key: str) -> ApiError:
    """Response to a reference to an unknown entity."""
    return ApiError(404, f"Entity not found: {kind} {key}")


def unhandled_exception(message: str) -> ApiError:
    """Response to client errors that the server does not handle: always 500."""
    text = f"An exception with message [{message}] was thrown while processing request."
    return ApiError(500, text, errorType="UNHANDLED_SERVER_EXCEPTION")


def rule_violation(rule: str, context: str) -> ApiError:
    text = f"Rule [{rule}] validation failed: Entity does not satisfy the rule. Rule context: {context}"
    return ApiError(400, text, errorType="RULE_VIOLATION")

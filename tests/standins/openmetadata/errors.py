"""Refusals, in the words of the recorded server."""

from typing import Any


class ApiError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.more = more

    def body(self) -> dict[str, Any]:
        return {"code": self.status, **self.more, "message": self.message}


class Unreadable(Exception):
    """JSON that does not fit the type: unknown property, wrong type, value not in an enum."""


def unreadable() -> ApiError:
    return ApiError(400, "Invalid request format")


def violated(*faults: str, prefix: str = "query param ") -> ApiError:
    """List constraint violations as the server's bean validation does."""
    return ApiError(400, "[" + ", ".join(prefix + fault for fault in faults) + "]")


def no_route() -> ApiError:
    return ApiError(404, "HTTP 404 Not Found")


def not_found(kind: str, key: str) -> ApiError:
    """Answer a read, a PATCH, or a write that names a soft-deleted entity."""
    return ApiError(404, f"{kind} instance for {key} not found")


def no_entity(kind: str, key: str) -> ApiError:
    """Answer a reference to something that does not exist."""
    return ApiError(404, f"Entity not found: {kind} {key}")


def unhandled(message: str) -> ApiError:
    """Answer one of the client mistakes that the server does not expect: 500, and 500 again on every retry."""
    text = f"An exception with message [{message}] was thrown while processing request."
    return ApiError(500, text, errorType="UNHANDLED_SERVER_EXCEPTION")


def rule_broken(rule: str, context: str) -> ApiError:
    text = f"Rule [{rule}] validation failed: Entity does not satisfy the rule. Rule context: {context}"
    return ApiError(400, text, errorType="RULE_VIOLATION")

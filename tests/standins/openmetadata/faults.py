"""Faults specific to OpenMetadata: rejected rows, expired tokens, lost races."""

from tests.standins.faults import Fault, error


def lost_race() -> Fault:
    """Respond 409 as if another client had just created the entity; a retry finds it."""
    return error(409, "Entity already exists", applied=True)


def failing_rows(*names: str, message: str = "The row is rejected by a test") -> Fault:
    """Reject some rows of a bulk request."""
    return Fault(rows=dict.fromkeys(names, message))


def expired_token() -> Fault:
    """Expire the token, from this request on."""
    return Fault(expire=True)

"""What goes wrong with OpenMetadata alone: refused rows, expired tokens, races that are lost."""

from tests.standins.faults import Fault, error


def lost_race() -> Fault:
    """Let somebody else have created the entity just before: 409, and a retry finds it."""
    return error(409, "Entity already exists", applied=True)


def failing_rows(*names: str, message: str = "The row is refused by a test") -> Fault:
    """Let chosen rows of a bulk fail."""
    return Fault(rows=dict.fromkeys(names, message))


def expired_token() -> Fault:
    """Let the token be expired from this request on."""
    return Fault(expire=True)

"""Certifications: a label with dates that are always the server's."""

from typing import Any

from tests.standins.openmetadata.create_shapes import LABEL
from tests.standins.openmetadata.errors import ApiError
from tests.standins.openmetadata.shapes import Shape, whole

CERTIFICATION = Shape({"tagLabel": LABEL, "appliedDate": whole, "expiryDate": whole}, required="tagLabel")
_VALID_MS = 30 * 24 * 3600 * 1000


def certified(raw: Any, now: int) -> dict[str, Any] | None:
    """Take a certification as it was sent, with dates of our own."""
    if raw is None:
        return None
    fqn = raw["tagLabel"]["tagFQN"]
    if not fqn.startswith("Certification."):
        raise ApiError(400, f"Invalid Classification: {fqn} is not valid for Certification.")
    return {"tagLabel": raw["tagLabel"], "appliedDate": now, "expiryDate": now + _VALID_MS}

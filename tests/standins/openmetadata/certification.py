"""Certifications: labels whose dates are always set by the server."""

from typing import Any

from tests.standins.openmetadata.create_shapes import LABEL
from tests.standins.openmetadata.errors import ApiError
from tests.standins.openmetadata.shapes import Shape, integer

CERTIFICATION = Shape({"tagLabel": LABEL, "appliedDate": integer, "expiryDate": integer}, required="tagLabel")
_VALID_MS = 30 * 24 * 3600 * 1000


def complete_certification(raw: Any, now: int) -> dict[str, Any] | None:
    """Replace the dates of a certification."""
    if raw is None:
        return None
    fqn = raw["tagLabel"]["tagFQN"]
    if not fqn.startswith("Certification."):
        raise ApiError(400, f"Invalid Classification: {fqn} is not valid for Certification.")
    return {"tagLabel": raw["tagLabel"], "appliedDate": now, "expiryDate": now + _VALID_MS}

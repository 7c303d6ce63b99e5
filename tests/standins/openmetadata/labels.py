"""User and time of applied labels."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from tests.standins.openmetadata.columns import walk
from tests.standins.openmetadata.governance import Governance

Data = dict[str, Any]


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def add_label_user(labels: Iterable[Data], user: str) -> list[Data]:
    """Add the user to new labels; the response shows them before they have a time."""
    return [label if "appliedAt" in label else {**label, "appliedBy": user} for label in labels]


def add_label_times(data: Data, governance: Governance, user: str) -> Data:
    """Add times to labels without one; later reads show them."""
    out = data
    if data.get("tags"):
        out = {**out, "tags": _add_times(data["tags"])}
    if (data.get("certification") or {}).get("tagLabel", {}).get("appliedAt", "") == "":
        out = {**out, **_certification(data, governance, user)}
    columns = data.get("columns", [])
    if any(not label.get("appliedAt") for column in walk(columns) for label in column["tags"]):
        out = {**out, "columns": [_add_column_times(column) for column in columns]}
    return out


def _add_column_times(column: Data) -> Data:
    children = [_add_column_times(child) for child in column["children"]]
    return {**column, "tags": _add_times(column["tags"]), "children": children}


def _certification(data: Data, governance: Governance, user: str) -> Data:
    """Complete the label of a certification; unknown tags are kept unchanged."""
    certification = data.get("certification")
    if not certification:
        return {}
    tag = governance.tag(certification["tagLabel"]["tagFQN"])
    label = dict(certification["tagLabel"])
    if tag is not None:
        label |= {"name": tag.name, "description": tag.data.get("description", ""), "style": tag.data.get("style")}
    label |= {"appliedAt": _now(), "appliedBy": user, "metadata": {"expiryDate": certification["expiryDate"]}}
    return {"certification": {**certification, "tagLabel": label}}


def _add_times(labels: list[Data]) -> list[Data]:
    return [label if "appliedAt" in label else {**label, "appliedAt": _now()} for label in labels]

"""Labels on entities and columns: who applied them, and when."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from tests.standins.openmetadata.columns import every
from tests.standins.openmetadata.governance import Governance

Data = dict[str, Any]


def _at() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def applied(labels: Iterable[Data], user: str) -> list[Data]:
    """Note who applies labels that are new; the answer shows them before they have a time."""
    return [label if "appliedAt" in label else {**label, "appliedBy": user} for label in labels]


def stamped(data: Data, known: Governance, user: str) -> Data:
    """Give labels that have none the time of their application, as a read shows it."""
    out = data
    if data.get("tags"):
        out = {**out, "tags": _stamped(data["tags"])}
    if (data.get("certification") or {}).get("tagLabel", {}).get("appliedAt", "") == "":
        out = {**out, **_certification(data, known, user)}
    columns = data.get("columns", [])
    if any(not label.get("appliedAt") for column in every(columns) for label in column["tags"]):
        out = {**out, "columns": [_stamped_column(column) for column in columns]}
    return out


def _stamped_column(column: Data) -> Data:
    children = [_stamped_column(child) for child in column["children"]]
    return {**column, "tags": _stamped(column["tags"]), "children": children}


def _certification(data: Data, known: Governance, user: str) -> Data:
    """Complete a certification as a read shows it; one that does not exist is taken as it is."""
    given = data.get("certification")
    if not given:
        return {}
    tag = known.tag(given["tagLabel"]["tagFQN"])
    label = dict(given["tagLabel"])
    if tag is not None:
        label |= {"name": tag.name, "description": tag.data.get("description", ""), "style": tag.data.get("style")}
    label |= {"appliedAt": _at(), "appliedBy": user, "metadata": {"expiryDate": given["expiryDate"]}}
    return {"certification": {**given, "tagLabel": label}}


def _stamped(labels: list[Data]) -> list[Data]:
    return [label if "appliedAt" in label else {**label, "appliedAt": _at()} for label in labels]

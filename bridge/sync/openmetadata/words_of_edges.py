"""What an edge says, as far as it is compared: times and names of who wrote it are the server's."""

from bridge.sync.item import fingerprint
from connectors.openmetadata.calls import Entity

SAID = ("columnsLineage", "sqlQuery", "description", "pipeline", "source")
_ENTRY = ("fromColumns", "toColumn", "function")


def comparable(edge: Entity | None) -> Entity | None:
    """Give what is compared of an edge as the server has it."""
    if edge is None:
        return None
    said = edge.get("lineageDetails") or edge
    kept = {key: said[key] for key in SAID if said.get(key)}
    if "pipeline" in kept:
        kept["pipeline"] = {key: kept["pipeline"][key] for key in ("id", "type") if key in kept["pipeline"]}
    if "columnsLineage" in kept:
        entries = [{key: entry[key] for key in _ENTRY if entry.get(key)} for entry in kept["columnsLineage"]]
        kept["columnsLineage"] = sorted(entries, key=lambda entry: str(entry["toColumn"]))
    return kept


def seen(there: Entity) -> str:
    """Hash what an edge says."""
    return fingerprint(there).hex()


def changed_at(edge: Entity | None) -> int | None:
    """Give when an edge was changed last, in milliseconds of the server; older ones do not tell."""
    at = ((edge or {}).get("lineageDetails") or edge or {}).get("updatedAt")
    return int(at) if at else None

"""What shall govern an entity, and what of it is to be changed there."""

from typing import NamedTuple

from bridge.sync.item import Item, Remote
from connectors.openmetadata.calls import Entity
from mappers.governance.agreement import Agreement, Told, Undone
from mappers.governance.merge import Path, Value, elements
from mappers.openmetadata import governance as of
from mappers.openmetadata.governance_patch import References


class Work(NamedTuple):
    """What shall govern an entity, and what was agreed on before."""

    item: Item
    remote: Remote
    local: dict[Path, Value]
    score: float | None
    agreed: Agreement
    mark: bytes


class Change(NamedTuple):
    """What is to be changed of an entity, and what cannot be."""

    #: What was agreed on of what is there.
    agreed: Agreement
    changes: dict[Path, Value]
    references: References
    #: What the file says, its owners as the server names them.
    local: dict[Path, Value]
    told: Told
    problems: list[str]
    undone: Undone
    #: How the owners that the file names are called on the server.
    owners: dict[str, str]


def of_its_columns(work: Work, entity: Entity) -> tuple[Work, list[str]]:
    """Leave out what is said of columns that are not there: nobody has changed that."""
    columns = {".".join(path) for path, _ in of.columns_of(entity)}
    gone = {path for path in (*work.local, *work.agreed.sent) if path[0] == of.COLUMNS and path[1] not in columns}
    if not gone:
        return work, []
    local, sent, seen = (
        {path: value for path, value in fields.items() if path not in gone}
        for fields in (work.local, work.agreed.sent, work.agreed.seen)
    )
    notes = [f"the table has no column {name}" for name in sorted({path[1] for path in gone & work.local.keys()})]
    return work._replace(local=local, agreed=work.agreed._replace(sent=sent, seen=seen)), notes


def with_theirs(value: Value, remote: Value, there: Value) -> Value:
    """Change of a set what is changed, and leave the rest of it as it is there."""
    if not isinstance(value, frozenset):
        return value
    return (elements(there) | (value - elements(remote))) - (elements(remote) - value)

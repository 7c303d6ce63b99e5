"""Plans a governance change: diff, missing references, messages."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from bridge.sync.openmetadata.governance_references import GovernanceReferences, known
from bridge.sync.sync_item import RemoteReference, SyncItem
from bridge.sync.target import PlanStep
from mappers.canonical_json import JsonObject
from mappers.governance.merge import Conflict, FieldPath, FieldValue, FieldValues, as_set, equal_values
from mappers.governance.merge_base import MergeBase, RemoteChanges, UnappliedChanges
from mappers.openmetadata import governance as of
from mappers.openmetadata.governance import DISPLAY_NAME, to_local_value, to_remote_value
from mappers.openmetadata.governance_patch import ReferenceIds


class DesiredGovernance(NamedTuple):
    """What shall govern an entity, and what was agreed on before."""

    item: SyncItem
    remote: RemoteReference
    local: dict[FieldPath, FieldValue]
    score: float | None
    agreed: MergeBase
    mark: bytes


class GovernanceChange(NamedTuple):
    """What is to be changed of an entity, and what cannot be."""

    #: What was agreed on of what is there.
    agreed: MergeBase
    changes: dict[FieldPath, FieldValue]
    references: ReferenceIds
    #: What the file says, its owners as the server names them.
    local: dict[FieldPath, FieldValue]
    told: RemoteChanges
    problems: list[str]
    undone: UnappliedChanges
    #: How the owners that the file names are called on the server.
    owners: dict[str, str]


def of_its_columns(work: DesiredGovernance, entity: JsonObject) -> tuple[DesiredGovernance, list[str]]:
    """Leave out what is said of columns that are not there: nobody has changed that."""
    columns = {".".join(path) for path, _ in of.entity_columns(entity)}
    gone = {path for path in (*work.local, *work.agreed.sent) if path[0] == of.COLUMNS and path[1] not in columns}
    if not gone:
        return work, []
    local, sent, seen = (
        {path: value for path, value in fields.items() if path not in gone}
        for fields in (work.local, work.agreed.sent, work.agreed.read)
    )
    notes = [f"the table has no column {name}" for name in sorted({path[1] for path in gone & work.local.keys()})]
    return work._replace(local=local, agreed=work.agreed._replace(sent=sent, read=seen)), notes


def with_theirs(value: FieldValue, remote: FieldValue, there: FieldValue) -> FieldValue:
    """Change of a set what is changed, and leave the rest of it as it is there."""
    if not isinstance(value, frozenset):
        return value
    return (as_set(there) | (value - as_set(remote))) - (as_set(remote) - value)


class GovernanceDiff(NamedTuple):
    """An entity as it was found: what a push would change, what was changed over there, what stands in the way."""

    key: bytes
    #: None where the dataset is not on the server.
    name: str | None
    changes: dict[FieldPath, FieldValue]
    told: RemoteChanges
    problems: list[str]
    #: How its owners are called on the server.
    owners: dict[str, str]

    def steps(self) -> Iterator[PlanStep]:
        """Say it as the steps of a plan."""
        name = self.name or "?"
        for path, value in sorted(self.changes.items()):
            yield PlanStep("change", "governance", f"{name} {'.'.join(path)}", f"to {format_value(value)}")
        yield from (PlanStep("unresolved", "governance", name, problem) for problem in self.problems)
        yield from (PlanStep("leave", "governance", name, said) for said in describe_remote_changes(self.told.fields))


def describe_remote_changes(fields: FieldValues) -> list[str]:
    """Say what OpenMetadata changed that the file does not say yet."""
    return [
        f"OpenMetadata says otherwise: {'.'.join(path)} is {format_value(value)}"
        for path, value in sorted(fields.items())
    ]


def rejected_fields(local: FieldValues, found: RemoteChanges, there: FieldValues) -> list[str]:
    """Say what the server does not say, though nobody changed it there: it was not taken."""
    undecided = {conflict.path for conflict in found.conflicts} | found.fields.keys()
    said = []
    for path, value in sorted(local.items()):
        wanted, found_there = to_remote_value(path, value), there.get(path)
        several = isinstance(wanted, frozenset)
        as_meant = equal_values(wanted, found_there) or equal_values(value, to_local_value(path, found_there))
        is_there = as_set(wanted) <= as_set(found_there) if several else as_meant
        if path == DISPLAY_NAME and not is_there:
            said.append("displayName is not set: the server does not allow it to us (EditDisplayName)")
        elif not is_there and path not in undecided:
            said.append(f"{'.'.join(path)} is not as it was sent: {format_value(found_there)}")
    return said


def describe_conflict(conflict: Conflict) -> str:
    """Say what both sides changed."""
    here, there = format_value(conflict.local), format_value(conflict.remote)
    return f"{'.'.join(conflict.path)} was changed on both sides: the file says {here}, OpenMetadata says {there}"


def format_value(value: FieldValue) -> str:
    """Say a value in one line."""
    if value is None:
        return "nothing"
    return ", ".join(sorted(value)) or "nothing" if isinstance(value, frozenset) else repr(value)


class ChangeResolver:
    """Leaves out of a change what cannot be, and says why."""

    def __init__(self, labels: GovernanceReferences, type_: str, entity: JsonObject, domain: FieldValue) -> None:
        self._labels = labels
        self._type = type_
        self._there = of.entity_fields(entity)
        self._domain = domain if isinstance(domain, str) else None
        self._owners = {
            f"{one['type']}:{one['name']}": (str(one["id"]), str(one["type"])) for one in _all(entity, "owners")
        }
        self._domains: dict[str, str] = {}
        self._products = {str(one["fullyQualifiedName"]): str(one["id"]) for one in _all(entity, "dataProducts")}
        self.problems: list[str] = []
        self._left_out: set[FieldPath] = set()
        self._missing: dict[FieldPath, frozenset[str]] = {}

    @property
    def references(self) -> ReferenceIds:
        """Give the ids of what the change refers to."""
        return ReferenceIds(self._owners, self._domains, self._products)

    @property
    def undone(self) -> UnappliedChanges:
        """Say what was left out."""
        return UnappliedChanges(frozenset(self._left_out), self._missing)

    def of(self, changes: FieldValues, owners: Mapping[str, tuple[str, str]]) -> dict[FieldPath, FieldValue]:
        """Give what can be changed."""
        self._owners = {**self._owners, **owners}
        first = sorted(changes, key=lambda path: (path != of.DOMAIN, path))  # a data product is made in its domain
        return {path: value for path in first for value in self._one(path, changes[path])}

    def _one(self, path: FieldPath, value: FieldValue) -> Iterable[FieldValue]:
        """Give the value that a field can have; none when it cannot be changed."""
        if value is None:
            return [None]
        if (find := self._of_set(path)) is not None:
            return [self._made(path, value, find)]
        single = self._of_one(path, value)
        if single is None or self._known([str(value)], single):
            return [value]
        self._left_out.add(path)
        return []

    def _of_set(self, path: FieldPath) -> Callable[[str], object] | None:
        """Say how it is looked for what the elements of a field are, if it holds several."""
        if path[0] == of.COLUMNS and path[-1] == "tags":
            return self._labels.tag
        sets: dict[FieldPath, Callable[[str], object]] = {
            of.TAGS: self._labels.tag,
            of.TERMS: self._labels.term,
            of.PRODUCTS: self._product,
        }
        return sets.get(path)

    def _of_one(self, path: FieldPath, value: FieldValue) -> Callable[[str], object] | None:
        """Say how it is looked for what a field that holds one value refers to, if it refers to anything."""
        if path[0] == of.CUSTOM:
            return lambda _: self._labels.custom_property(self._type, path[1], value)
        if path in (of.TIER, of.CERTIFICATION):
            return self._labels.tag
        return self._a_domain if path == of.DOMAIN else None

    def _made(self, path: FieldPath, value: FieldValue, find: Callable[[str], object]) -> FieldValue:
        """Give the elements of a set that are on the server by now; those that were there already are."""
        before, new = as_set(self._there.get(path)), as_set(value) - as_set(self._there.get(path))
        known_ones = frozenset(self._known(sorted(new), find))
        if new - known_ones:
            self._missing[path] = new - known_ones
        return (as_set(value) & before) | known_ones

    def _known(self, names: Iterable[str], find: Callable[[str], object]) -> list[str]:
        found, problems = known(names, find)
        self.problems += problems
        return list(found)

    def _a_domain(self, name: str) -> str:
        self._domains[name] = self._labels.domain(name)
        return name

    def _product(self, name: str) -> str:
        self._products[name] = self._labels.product(name, self._domain)
        return name


def _all(entity: JsonObject, key: str) -> Iterable[JsonObject]:
    return entity.get(key) or ()

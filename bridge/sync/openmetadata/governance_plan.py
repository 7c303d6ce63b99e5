"""Plans a governance change: diff, missing references, messages."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from bridge.sync.openmetadata.governance_references import GovernanceReferences, find_all
from bridge.sync.sync_item import ItemRecord, RemoteReference, SyncItem
from bridge.sync.target import PlanStep
from mappers.canonical_json import JsonObject
from mappers.governance.merge import Conflict, FieldPath, FieldValue, FieldValues, as_set, equal_values
from mappers.governance.merge_base import MergeBase, RemoteChanges, StoredFields, UnappliedChanges, decode_fields
from mappers.openmetadata import governance as mapped
from mappers.openmetadata.governance import DISPLAY_NAME, to_local_value, to_remote_value
from mappers.openmetadata.governance_patch import ReferenceIds


class GovernanceRecord(ItemRecord, frozen=True):
    """Merge base of a push, and the remote changes that it found."""

    sent: StoredFields = msgspec.field(default_factory=list)
    read: StoredFields = msgspec.field(default_factory=list, name="seen")
    remote: StoredFields = msgspec.field(default_factory=list, name="theirs")
    remote_id: str | None = msgspec.field(default=None, name="of")
    score_pushed: bool = msgspec.field(default=False, name="scored")
    #: Remote names of the owners in the asset file.
    owners: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def base(self) -> MergeBase:
        return MergeBase(decode_fields(self.sent), decode_fields(self.read), self.remote_id)

    @property
    def remote_fields(self) -> dict[FieldPath, FieldValue]:
        """Fields that were changed in OpenMetadata and that the asset file does not contain yet."""
        return decode_fields(self.remote)


class DesiredGovernance(NamedTuple):
    """Desired governance of an entity, and the merge base."""

    item: SyncItem
    remote: RemoteReference
    local: dict[FieldPath, FieldValue]
    score: float | None
    base: MergeBase
    fingerprint: bytes
    #: Texts that were sent with the entity, by field; they give way to those of the asset file.
    own_values: Mapping[FieldPath, Container[FieldValue]] = MappingProxyType({})
    request: None = None


class GovernanceChange(NamedTuple):
    """Changes to apply to an entity, and changes that cannot be applied."""

    #: Merge base without columns that do not exist.
    base: MergeBase
    changes: dict[FieldPath, FieldValue]
    references: ReferenceIds
    #: Local fields, with the remote names of owners.
    local: dict[FieldPath, FieldValue]
    remote: RemoteChanges
    problems: list[str]
    unapplied: UnappliedChanges
    #: Remote names of the file's owners.
    owners: dict[str, str]


def without_missing_columns(desired: DesiredGovernance, entity: JsonObject) -> tuple[DesiredGovernance, list[str]]:
    """Drop columns that the entity lacks, so that they do not count as changes made in OpenMetadata."""
    columns = {".".join(path) for path, _ in mapped.entity_columns(entity)}
    missing = {
        path for path in (*desired.local, *desired.base.sent) if path[0] == mapped.COLUMNS and path[1] not in columns
    }
    if not missing:
        return desired, []
    base = desired.base._replace(sent=_without(desired.base.sent, missing), read=_without(desired.base.read, missing))
    notes = [f"column {name} does not exist" for name in sorted({path[1] for path in missing & desired.local.keys()})]
    return desired._replace(local=_without(desired.local, missing), base=base), notes


def _without(fields: FieldValues, paths: Container[FieldPath]) -> dict[FieldPath, FieldValue]:
    return {path: value for path, value in fields.items() if path not in paths}


def with_remote_elements(value: FieldValue, remote: FieldValue, stored: FieldValue) -> FieldValue:
    """Apply the local changes to a set, and keep all other remote elements of the set."""
    if not isinstance(value, frozenset):
        return value
    return (as_set(stored) | (value - as_set(remote))) - (as_set(remote) - value)


class GovernanceDiff(NamedTuple):
    """Local changes, remote changes and problems of an entity."""

    key: bytes
    #: None if the dataset is not on the server.
    name: str | None
    changes: dict[FieldPath, FieldValue]
    remote: RemoteChanges
    problems: list[str]
    #: Remote names of its owners.
    owners: dict[str, str]

    def steps(self) -> Iterator[PlanStep]:
        """Return the diff as steps of a plan."""
        name = self.name or "?"
        for path, value in sorted(self.changes.items()):
            yield PlanStep("change", "governance", f"{name} {'.'.join(path)}", f"to {format_value(value)}")
        yield from (PlanStep("unresolved", "governance", name, problem) for problem in self.problems)
        yield from (
            PlanStep("leave", "governance", name, message) for message in describe_remote_changes(self.remote.fields)
        )


def describe_remote_changes(fields: FieldValues) -> list[str]:
    """Return messages about changes in OpenMetadata that are not in the file."""
    return [
        f"changed in OpenMetadata: {'.'.join(path)} is {format_value(value)}"
        for path, value in sorted(fields.items())
    ]


def describe_rejected_fields(local: FieldValues, remote: RemoteChanges, stored: FieldValues) -> list[str]:
    """Return messages about fields that the server did not accept."""
    undecided = {conflict.path for conflict in remote.conflicts} | remote.fields.keys()
    messages = []
    for path, value in sorted(local.items()):
        sent, remote_value = to_remote_value(path, value), stored.get(path)
        is_set = isinstance(sent, frozenset)
        is_equal = equal_values(sent, remote_value) or equal_values(value, to_local_value(path, remote_value))
        is_accepted = as_set(sent) <= as_set(remote_value) if is_set else is_equal
        if is_accepted or path in undecided:
            continue
        if path == DISPLAY_NAME:
            messages.append("displayName stays as it is: before OpenMetadata 2.0, a bot may only set a missing one")
        else:
            messages.append(f"{'.'.join(path)} was not stored as sent: {format_value(remote_value)}")
    return messages


def describe_conflict(conflict: Conflict) -> str:
    local, remote = format_value(conflict.local), format_value(conflict.remote)
    return f"{'.'.join(conflict.path)} was changed on both sides: {local} in the file, {remote} in OpenMetadata"


def format_value(value: FieldValue) -> str:
    """Format a value on one line."""
    if isinstance(value, frozenset):
        return ", ".join(sorted(value)) or "nothing"
    return "nothing" if value is None else repr(value)


class ChangeResolver:
    """Resolves the references of a change; drops references that cannot be resolved, and reports why."""

    def __init__(self, references: GovernanceReferences, type_: str, entity: JsonObject, domain: FieldValue) -> None:
        self._references = references
        self._type = type_
        self._entity_name = str(entity["name"])
        self._stored = mapped.entity_fields(entity)
        self._domain = domain if isinstance(domain, str) else None
        self._owners = {
            f"{owner['type']}:{owner['name']}": (str(owner["id"]), str(owner["type"]))
            for owner in _members(entity, "owners")
        }
        self._domains: dict[str, str] = {}
        self._products = {
            str(product["fullyQualifiedName"]): str(product["id"]) for product in _members(entity, "dataProducts")
        }
        self.problems: list[str] = []
        self._dropped: set[FieldPath] = set()
        self._missing: dict[FieldPath, frozenset[str]] = {}

    @property
    def references(self) -> ReferenceIds:
        """Ids of the referenced entities."""
        return ReferenceIds(self._owners, self._domains, self._products)

    @property
    def unapplied(self) -> UnappliedChanges:
        """Dropped fields and elements."""
        return UnappliedChanges(frozenset(self._dropped), self._missing)

    def resolve(self, changes: FieldValues, owners: Mapping[str, tuple[str, str]]) -> dict[FieldPath, FieldValue]:
        """Return the changes that can be applied."""
        self._owners = {**self._owners, **owners}
        # the domain comes first, because data products are created in their domain
        ordered_paths = sorted(changes, key=lambda path: (path != mapped.DOMAIN, path))
        resolved = {path: self._resolve_field(path, changes[path]) for path in ordered_paths}
        return _without(resolved, self._dropped)

    def _resolve_field(self, path: FieldPath, value: FieldValue) -> FieldValue:
        """Return the value to set. A field that refers to a missing entity is added to the dropped fields."""
        if value is None:
            return None
        if (find_element := self._element_finder(path)) is not None:
            return self._resolve_set(path, value, find_element)
        find_value = self._value_finder(path, value)
        if find_value is not None and not self._find_all([str(value)], find_value):
            self._dropped.add(path)
        return value

    def _element_finder(self, path: FieldPath) -> Callable[[str], object] | None:
        """Return a function that looks up the elements of a set field; return None for other fields."""
        if path[0] == mapped.COLUMNS and path[-1] == "tags":
            return self._find_tag
        finders: dict[FieldPath, Callable[[str], object]] = {
            mapped.TAGS: self._find_tag,
            mapped.TERMS: self._references.term,
            mapped.PRODUCTS: self._find_product,
        }
        return finders.get(path)

    def _value_finder(self, path: FieldPath, value: FieldValue) -> Callable[[str], object] | None:
        """Return a function that looks up what a single-valued field refers to; None if it is not a reference."""
        if path[0] == mapped.CUSTOM:
            return lambda _: self._references.custom_property(self._type, path[1], value)
        if path in (mapped.TIER, mapped.CERTIFICATION):
            return self._find_tag
        return self._find_domain if path == mapped.DOMAIN else None

    def _resolve_set(self, path: FieldPath, value: FieldValue, find_element: Callable[[str], object]) -> FieldValue:
        """Return the elements of a set that exist on the server. Assigned elements are not looked up."""
        assigned = as_set(self._stored.get(path))
        new = as_set(value) - assigned
        existing = frozenset(self._find_all(sorted(new), find_element))
        if new - existing:
            self._missing[path] = new - existing
        return (as_set(value) & assigned) | existing

    def _find_all(self, names: Iterable[str], find: Callable[[str], object]) -> list[str]:
        references, problems = find_all(names, find)
        self.problems += problems
        return list(references)

    def _find_tag(self, name: str) -> str:
        return self._references.tag(name, self._entity_name)

    def _find_domain(self, name: str) -> str:
        self._domains[name] = self._references.domain(name)
        return name

    def _find_product(self, name: str) -> str:
        self._products[name] = self._references.product(name, self._domain)
        return name


def _members(entity: JsonObject, key: str) -> Iterable[JsonObject]:
    return entity.get(key) or ()

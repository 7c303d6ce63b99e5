"""Translates changes made in OpenMetadata into governance facet fields."""

from collections.abc import Mapping
from typing import NamedTuple

from mappers.governance.facet import COLUMNS, CUSTOM
from mappers.governance.merge import FieldPath, FieldValue, FieldValues, as_set
from mappers.openmetadata import governance
from mappers.openmetadata.governance import TagVocabulary

_SCALAR_FIELDS: dict[FieldPath, str] = {
    governance.DESCRIPTION: "description",
    governance.DISPLAY_NAME: "displayName",
    governance.DOMAIN: "domain",
    governance.TIER: "tier",
    governance.CERTIFICATION: "certification",
}
_FLAGS = ("sensitive", "required")


class ImportedFields(NamedTuple):
    """Changed fields of a facet, None if a field is removed, and changes that no field can express."""

    changes: dict[FieldPath, FieldValue]
    problems: list[str]


def import_remote_changes(
    fields: FieldValues, remote: FieldValues, vocabulary: TagVocabulary, owners: Mapping[str, str]
) -> ImportedFields:
    """Translate remote changes into facet fields; `owners` maps owners as written to their names on the server."""
    changes: dict[FieldPath, FieldValue] = {}
    problems: list[str] = []
    for path, value in sorted(remote.items()):
        if path == governance.RETENTION and value and governance.retention_days(value) is None:
            problems.append(f"a retention of {value} is not a whole number of days")
        elif path == governance.OWNERS:
            changes["owners",] = _owners(as_set(fields.get(("owners",))), as_set(value), owners)
        elif path == governance.TAGS:
            changes |= _tags(fields, as_set(value), vocabulary)
        elif path[0] == COLUMNS and path[2] == "tags":
            changes |= _column(fields, path[1], as_set(value), vocabulary)
        else:
            changes |= _field(path, value, vocabulary)
    return ImportedFields(changes, problems)


def _field(path: FieldPath, value: FieldValue, vocabulary: TagVocabulary) -> dict[FieldPath, FieldValue]:
    if path in _SCALAR_FIELDS:
        return {(_SCALAR_FIELDS[path],): _without_classification(value)}
    if path == governance.RETENTION:
        return {("retentionDays",): governance.retention_days(value) if value else None}
    if path == governance.PRODUCTS:
        return {("dataProducts",): value}
    if path == governance.TERMS:
        return {("glossaryTerms",): frozenset(map(vocabulary.local_term, as_set(value)))}
    return {("category",) if path == (CUSTOM, "category") else path: value}


def _without_classification(value: FieldValue) -> FieldValue:
    """Tiers and certifications have no classification in asset files."""
    if isinstance(value, str) and value.startswith((governance.TIER_LABELS, governance.CERTIFICATION_LABELS)):
        return value.partition(".")[2]
    return value


def _owners(written: frozenset[str], remote: frozenset[str], owners: Mapping[str, str]) -> frozenset[str]:
    """Keep remaining owners as they were written; of new owners only the name is known."""
    remaining = {owner for owner in written if owners.get(owner, owner) in remote}
    remaining_remote = {owners.get(owner, owner) for owner in remaining}
    return frozenset(remaining | {owner.partition(":")[2] for owner in remote - remaining_remote})


def _tags(fields: FieldValues, remote: frozenset[str], vocabulary: TagVocabulary) -> dict[FieldPath, FieldValue]:
    """Remove tags from the lists in which they were written, and add new ones to the plain tags."""
    changes: dict[FieldPath, FieldValue] = {}
    written: set[str] = set()
    for key in ("tags", "classifications"):
        previous = as_set(fields.get((key,)))
        remaining = frozenset(word for word in previous if vocabulary.tag_fqn(word) in remote)
        written |= {vocabulary.tag_fqn(word) for word in previous}
        if remaining != previous:
            changes[key,] = remaining
    added = {vocabulary.local_tag(tag) for tag in remote - written if not tag.startswith(f"{vocabulary.access}.")}
    if added:
        changes["tags",] = as_set(changes.get(("tags",), fields.get(("tags",)))) | added
    return changes


def _column(
    fields: FieldValues, name: str, remote: frozenset[str], vocabulary: TagVocabulary
) -> dict[FieldPath, FieldValue]:
    """Tags of a column become flags where they stand for one, otherwise classifications."""
    path = (COLUMNS, name, "classifications")
    flags = {flag: vocabulary.tag_fqn(flag.capitalize()) for flag in _FLAGS}
    previous = as_set(fields.get(path))
    remaining = {word for word in previous if vocabulary.tag_fqn(word) in remote}
    added = remote - {vocabulary.tag_fqn(word) for word in previous} - {*flags.values()}
    changes: dict[FieldPath, FieldValue] = {path: frozenset(remaining | {vocabulary.local_tag(tag) for tag in added})}
    for flag, tag in flags.items():
        if (tag in remote) != bool(fields.get((COLUMNS, name, flag))):
            changes[COLUMNS, name, flag] = True if tag in remote else None
    return changes

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
    """Changed fields of a facet (None for a removed field), and changes that no field can express."""

    changes: dict[FieldPath, FieldValue]
    problems: list[str]


def import_remote_changes(
    fields: FieldValues, remote: FieldValues, vocabulary: TagVocabulary, owners: Mapping[str, str]
) -> ImportedFields:
    """Translate remote changes into facet fields; `owners` maps owners in asset files to their server names."""
    changes: dict[FieldPath, FieldValue] = {}
    problems: list[str] = []
    for path, value in sorted(remote.items()):
        if path == governance.RETENTION and value and governance.retention_days(value) is None:
            problems.append(f"a retention of {value} is not a whole number of days")
        elif path == governance.OWNERS:
            changes["owners",] = _import_owners(as_set(fields.get(("owners",))), as_set(value), owners)
        elif path == governance.TAGS:
            changes |= _import_tags(fields, as_set(value), vocabulary)
        elif path[0] == COLUMNS and path[-1] == "tags":
            _, column_name, _ = path
            changes |= _import_column_tags(fields, column_name, as_set(value), vocabulary)
        else:
            changes |= _import_field(path, value, vocabulary)
    return ImportedFields(changes, problems)


def _import_field(path: FieldPath, value: FieldValue, vocabulary: TagVocabulary) -> dict[FieldPath, FieldValue]:
    if path in _SCALAR_FIELDS:
        return {(_SCALAR_FIELDS[path],): _without_classification(value)}
    if path == governance.RETENTION:
        return {("retentionDays",): governance.retention_days(value) if value else None}
    if path == governance.PRODUCTS:
        return {("dataProducts",): value}
    if path == governance.TERMS:
        return {("glossaryTerms",): frozenset(map(vocabulary.local_term, as_set(value)))}
    if path == (CUSTOM, "category"):
        return {("category",): value}
    return {path: value}


def _without_classification(value: FieldValue) -> FieldValue:
    """Remove the classification from tiers and certifications, which asset files name without it."""
    if isinstance(value, str) and value.startswith((governance.TIER_LABELS, governance.CERTIFICATION_LABELS)):
        return value.partition(".")[2]
    return value


def _import_owners(local: frozenset[str], remote: frozenset[str], owners: Mapping[str, str]) -> frozenset[str]:
    """Keep the spelling of owners in the asset file, and add new owners by name."""
    remaining = {owner for owner in local if owners.get(owner, owner) in remote}
    added = remote - {owners.get(owner, owner) for owner in remaining}
    return frozenset(remaining | {owner.partition(":")[2] for owner in added})


def _import_tags(
    fields: FieldValues, remote: frozenset[str], vocabulary: TagVocabulary
) -> dict[FieldPath, FieldValue]:
    """Remove tags from the lists that contain them, and add new tags to `tags`."""
    changes: dict[FieldPath, FieldValue] = {}
    local_tags: set[str] = set()
    for key in ("tags", "classifications"):
        previous = as_set(fields.get((key,)))
        remaining = frozenset(word for word in previous if vocabulary.tag_fqn(word) in remote)
        local_tags |= {vocabulary.tag_fqn(word) for word in previous}
        if remaining != previous:
            changes[key,] = remaining
    added = {vocabulary.local_tag(tag) for tag in remote - local_tags if not tag.startswith(f"{vocabulary.access}.")}
    if added:
        changes["tags",] = as_set(changes.get(("tags",), fields.get(("tags",)))) | added
    return changes


def _import_column_tags(
    fields: FieldValues, name: str, remote: frozenset[str], vocabulary: TagVocabulary
) -> dict[FieldPath, FieldValue]:
    """Translate column tags into flags if flags exist for them, otherwise into classifications."""
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

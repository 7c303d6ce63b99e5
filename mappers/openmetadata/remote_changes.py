"""Translates changes made in OpenMetadata into governance facet fields."""

from collections.abc import Mapping
from typing import NamedTuple

from mappers.governance.facet import COLUMNS, CUSTOM
from mappers.governance.merge import FieldPath, FieldValue, FieldValues, as_set
from mappers.openmetadata import governance as of
from mappers.openmetadata.governance import TagVocabulary

_SINGLE: dict[FieldPath, str] = {
    of.DESCRIPTION: "description",
    of.DISPLAY_NAME: "displayName",
    of.DOMAIN: "domain",
    of.TIER: "tier",
    of.CERTIFICATION: "certification",
}
_FLAGS = ("sensitive", "required")


class ImportedFields(NamedTuple):
    """Fields of a facet with what was changed, None where a field goes; and what no field can say."""

    changes: dict[FieldPath, FieldValue]
    problems: list[str]


def import_remote_changes(
    fields: FieldValues, theirs: FieldValues, words: TagVocabulary, owners: Mapping[str, str]
) -> ImportedFields:
    """Say what becomes of the fields of a facet, given how its owners are called on the server."""
    changes: dict[FieldPath, FieldValue] = {}
    problems: list[str] = []
    for path, value in sorted(theirs.items()):
        if path == of.RETENTION and value and of.retention_days(value) is None:
            problems.append(f"a retention of {value} cannot be said in whole days")
        elif path == of.OWNERS:
            changes["owners",] = _owners(as_set(fields.get(("owners",))), as_set(value), owners)
        elif path == of.TAGS:
            changes |= _tags(fields, as_set(value), words)
        elif path[0] == COLUMNS and path[2] == "tags":
            changes |= _column(fields, path[1], as_set(value), words)
        else:
            changes |= _field(path, value, words)
    return ImportedFields(changes, problems)


def _field(path: FieldPath, value: FieldValue, words: TagVocabulary) -> dict[FieldPath, FieldValue]:
    """Say a field that is one of a facet as well."""
    if path in _SINGLE:
        return {(_SINGLE[path],): _plain(value)}
    if path == of.RETENTION:
        return {("retentionDays",): of.retention_days(value) if value else None}
    if path == of.PRODUCTS:
        return {("dataProducts",): value}
    if path == of.TERMS:
        return {("glossaryTerms",): frozenset(map(words.local_term, as_set(value)))}
    return {("category",) if path == (CUSTOM, "category") else path: value}


def _plain(value: FieldValue) -> FieldValue:
    """Say a tier or certification as files do: without its classification."""
    if isinstance(value, str) and value.startswith((of.TIER_LABELS, of.CERTIFICATION_LABELS)):
        return value.partition(".")[2]
    return value


def _owners(written: frozenset[str], there: frozenset[str], owners: Mapping[str, str]) -> frozenset[str]:
    """Keep those that are still there as they were written; of the others the name is all that is known."""
    kept = {one for one in written if owners.get(one, one) in there}
    known = {owners.get(one, one) for one in kept}
    return frozenset(kept | {one.partition(":")[2] for one in there - known})


def _tags(fields: FieldValues, there: frozenset[str], words: TagVocabulary) -> dict[FieldPath, FieldValue]:
    """Take tags away where they were written, and write new ones among the plain tags."""
    changes: dict[FieldPath, FieldValue] = {}
    written: set[str] = set()
    for key in ("tags", "classifications"):
        before = as_set(fields.get((key,)))
        kept = frozenset(word for word in before if words.tag_fqn(word) in there)
        written |= {words.tag_fqn(word) for word in before}
        if kept != before:
            changes[key,] = kept
    new = {words.local_tag(tag) for tag in there - written if not tag.startswith(f"{words.access}.")}
    if new:
        changes["tags",] = as_set(changes.get(("tags",), fields.get(("tags",)))) | new
    return changes


def _column(
    fields: FieldValues, name: str, there: frozenset[str], words: TagVocabulary
) -> dict[FieldPath, FieldValue]:
    """Say what tags of a column mean: flags where they stand for one, classifications else."""
    at = (COLUMNS, name, "classifications")
    flags = {flag: words.tag_fqn(flag.capitalize()) for flag in _FLAGS}
    before = as_set(fields.get(at))
    kept = {word for word in before if words.tag_fqn(word) in there}
    new = there - {words.tag_fqn(word) for word in before} - {*flags.values()}
    changes: dict[FieldPath, FieldValue] = {at: frozenset(kept | {words.local_tag(tag) for tag in new})}
    for flag, tag in flags.items():
        if (tag in there) != bool(fields.get((COLUMNS, name, flag))):
            changes[COLUMNS, name, flag] = True if tag in there else None
    return changes

"""What OpenMetadata changed, as a steward would have written it: the fields of a governance facet."""

from collections.abc import Mapping
from typing import NamedTuple

from mappers.governance.facet import COLUMNS, CUSTOM
from mappers.governance.merge import Fields, Path, Value, elements
from mappers.openmetadata import governance as of
from mappers.openmetadata.governance import Vocabulary

_SINGLE: dict[Path, str] = {
    of.DESCRIPTION: "description",
    of.DISPLAY_NAME: "displayName",
    of.DOMAIN: "domain",
    of.TIER: "tier",
    of.CERTIFICATION: "certification",
}
_FLAGS = ("sensitive", "required")


class Adopted(NamedTuple):
    """Fields of a facet with what was changed, None where a field goes; and what no field can say."""

    changes: dict[Path, Value]
    problems: list[str]


def adopt(fields: Fields, theirs: Fields, words: Vocabulary, owners: Mapping[str, str]) -> Adopted:
    """Say what becomes of the fields of a facet, given how its owners are called on the server."""
    changes: dict[Path, Value] = {}
    problems: list[str] = []
    for path, value in sorted(theirs.items()):
        if path == of.RETENTION and value and of.days(value) is None:
            problems.append(f"a retention of {value} cannot be said in whole days")
        elif path == of.OWNERS:
            changes["owners",] = _owners(elements(fields.get(("owners",))), elements(value), owners)
        elif path == of.TAGS:
            changes |= _tags(fields, elements(value), words)
        elif path[0] == COLUMNS and path[2] == "tags":
            changes |= _column(fields, path[1], elements(value), words)
        else:
            changes |= _field(path, value, words)
    return Adopted(changes, problems)


def _field(path: Path, value: Value, words: Vocabulary) -> dict[Path, Value]:
    """Say a field that is one of a facet as well."""
    if path in _SINGLE:
        return {(_SINGLE[path],): _plain(value)}
    if path == of.RETENTION:
        return {("retentionDays",): of.days(value) if value else None}
    if path == of.PRODUCTS:
        return {("dataProducts",): value}
    if path == of.TERMS:
        return {("glossaryTerms",): frozenset(map(words.term_word, elements(value)))}
    return {("category",) if path == (CUSTOM, "category") else path: value}


def _plain(value: Value) -> Value:
    """Say a tier or certification as files do: without its classification."""
    if isinstance(value, str) and value.startswith((of.TIER_LABELS, of.CERTIFICATION_LABELS)):
        return value.partition(".")[2]
    return value


def _owners(written: frozenset[str], there: frozenset[str], owners: Mapping[str, str]) -> frozenset[str]:
    """Keep those that are still there as they were written; of the others the name is all that is known."""
    kept = {one for one in written if owners.get(one, one) in there}
    known = {owners.get(one, one) for one in kept}
    return frozenset(kept | {one.partition(":")[2] for one in there - known})


def _tags(fields: Fields, there: frozenset[str], words: Vocabulary) -> dict[Path, Value]:
    """Take tags away where they were written, and write new ones among the plain tags."""
    changes: dict[Path, Value] = {}
    written: set[str] = set()
    for key in ("tags", "classifications"):
        before = elements(fields.get((key,)))
        kept = frozenset(word for word in before if words.tag(word) in there)
        written |= {words.tag(word) for word in before}
        if kept != before:
            changes[key,] = kept
    new = {words.tag_word(tag) for tag in there - written if not tag.startswith(f"{words.access}.")}
    if new:
        changes["tags",] = elements(changes.get(("tags",), fields.get(("tags",)))) | new
    return changes


def _column(fields: Fields, name: str, there: frozenset[str], words: Vocabulary) -> dict[Path, Value]:
    """Say what tags of a column mean: flags where they stand for one, classifications else."""
    at = (COLUMNS, name, "classifications")
    flags = {flag: words.tag(flag.capitalize()) for flag in _FLAGS}
    before = elements(fields.get(at))
    kept = {word for word in before if words.tag(word) in there}
    new = there - {words.tag(word) for word in before} - {*flags.values()}
    changes: dict[Path, Value] = {at: frozenset(kept | {words.tag_word(tag) for tag in new})}
    for flag, tag in flags.items():
        if (tag in there) != bool(fields.get((COLUMNS, name, flag))):
            changes[COLUMNS, name, flag] = True if tag in there else None
    return changes

"""Governance fields: read from an entity, or desired by a facet."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mappers.canonical_json import JsonObject
from mappers.governance.merge import FieldPath, FieldValue
from mappers.openmetadata.descriptions import escape_description, unescape_description
from mappers.openmetadata.fqn import fqn

#: What a read must ask for, so that all that governs an entity is in the answer.
GOVERNANCE_FIELDS = (
    "owners",
    "tags",
    "domains",
    "dataProducts",
    "extension",
    "columns",
    "retentionPeriod",
    "certification",
)
GOVERNANCE_FIELDS_WITHOUT_COLUMNS = ("owners", "tags", "domains", "dataProducts", "extension", "certification")
DESCRIPTION, DISPLAY_NAME, RETENTION = ("description",), ("displayName",), ("retentionPeriod",)
OWNERS, TAGS, TERMS, TIER = ("owners",), ("tags",), ("glossaryTerms",), ("tier",)
DOMAIN, PRODUCTS, CERTIFICATION = ("domain",), ("dataProducts",), ("certification",)
CUSTOM, COLUMNS = "customProperties", "columns"
#: The custom property that holds the quality score, which nobody but us writes.
SCORE = (CUSTOM, "lineageBridgeQualityScore")
_CERTIFICATIONS, _TIERS = "Certification", "Tier"
TIER_LABELS, CERTIFICATION_LABELS = f"{_TIERS}.", f"{_CERTIFICATIONS}."
_DAYS = re.compile(r"P(\d+)D")


class TagVocabulary(NamedTuple):
    """Where plain words lie on the server: in a classification and a glossary of ours, unless they are named."""

    classification: str = "LineageBridge"
    glossary: str = "LineageBridge"
    access: str = "LineageBridgeAccess"
    #: Words that are tags of others, such as PII for PII.Sensitive.
    tags: tuple[tuple[str, str], ...] = (("pii", "PII.Sensitive"),)

    def tag_fqn(self, word: str) -> str:
        """Name a tag by its fully qualified name."""
        known = dict(self.tags).get(word.lower())
        return known or (word if "." in word else fqn(self.classification, word))

    def term_fqn(self, word: str) -> str:
        """Name a term by its fully qualified name."""
        return word if "." in word else fqn(self.glossary, word)

    def local_tag(self, name: str) -> str:
        """Name a tag as a steward writes it: by a plain word only where that means this very tag."""
        word = name.removeprefix(f"{self.classification}.")
        return word if word and self.tag_fqn(word) == name else name

    def local_term(self, name: str) -> str:
        """Name a term as a steward writes it."""
        word = name.removeprefix(f"{self.glossary}.")
        return word if word and self.term_fqn(word) == name else name


def desired_fields(facet: Mapping[str, Any], words: TagVocabulary) -> dict[FieldPath, FieldValue]:
    """Say what a governance facet wants of an entity; owners are as they were written, to be looked up."""
    single: dict[FieldPath, FieldValue] = {
        DESCRIPTION: facet.get("description"),
        DISPLAY_NAME: facet.get("displayName"),
        DOMAIN: facet.get("domain"),
        TIER: _within(_TIERS, facet.get("tier")),
        CERTIFICATION: _within(_CERTIFICATIONS, facet.get("certification")),
        RETENTION: f"P{facet['retentionDays']}D" if "retentionDays" in facet else None,
        (CUSTOM, "category"): facet.get("category"),
    }
    sets = {OWNERS: "owners", PRODUCTS: "dataProducts"}
    fields: dict[FieldPath, FieldValue] = {path: value for path, value in single.items() if value is not None}
    fields |= {path: frozenset(facet[key]) for path, key in sets.items() if key in facet}
    fields |= _wanted_labels(facet, words)
    fields |= {(CUSTOM, name): value for name, value in (facet.get("customProperties") or {}).items()}
    for column in facet.get("columns", ()):
        fields |= _desired_column_fields(column, words)
    return fields


def _wanted_labels(facet: Mapping[str, Any], words: TagVocabulary) -> Iterator[tuple[FieldPath, FieldValue]]:
    said = [key for key in ("tags", "classifications", "accessPolicies") if key in facet]
    tags = [words.tag_fqn(word) for key in said if key != "accessPolicies" for word in facet[key]]
    if facet.get("accessPolicies"):
        tags.append(fqn(words.access, facet["accessTag"]))
    if said:
        yield TAGS, frozenset(tags)
    if "glossaryTerms" in facet:
        yield TERMS, frozenset(map(words.term_fqn, facet["glossaryTerms"]))


def _desired_column_fields(column: Mapping[str, Any], words: TagVocabulary) -> Iterator[tuple[FieldPath, FieldValue]]:
    tags = [words.tag_fqn(word) for word in column.get("classifications", ())]
    tags += [words.tag_fqn(word.capitalize()) for word in ("sensitive", "required") if column.get(word)]
    if tags or "classifications" in column:
        yield (COLUMNS, column["name"], "tags"), frozenset(tags)
    if isinstance(said := column.get("description"), str):
        yield (COLUMNS, column["name"], "description"), said


def entity_fields(entity: JsonObject) -> dict[FieldPath, FieldValue]:
    """Say what governs an entity, its texts as they are stored."""
    labels = _tags(entity)
    tiers = sorted(tag for tag in labels if tag.startswith(TIER_LABELS))
    certification = (entity.get("certification") or {}).get("tagLabel") or {}
    domains = [str(one["fullyQualifiedName"]) for one in own_references(entity, "domains")]
    fields: dict[FieldPath, FieldValue] = {
        DESCRIPTION: entity.get("description") or None,
        DISPLAY_NAME: entity.get("displayName"),
        DOMAIN: domains[0] if domains else None,
        TIER: tiers[0] if tiers else None,
        CERTIFICATION: certification.get("tagFQN"),
        RETENTION: entity.get("retentionPeriod"),
        OWNERS: frozenset(f"{one['type']}:{one['name']}" for one in own_references(entity, "owners")),
        PRODUCTS: frozenset(str(one["fullyQualifiedName"]) for one in own_references(entity, "dataProducts")),
        TAGS: labels - {*tiers},
        TERMS: frozenset(str(label["tagFQN"]) for label in _direct_labels(entity) if is_term(label)),
    }
    for name, value in (entity.get("extension") or {}).items():
        fields[CUSTOM, name] = frozenset(map(str, value)) if isinstance(value, list) else value
    for path, column in entity_columns(entity):
        name = ".".join(path)
        fields[COLUMNS, name, "tags"] = _tags(column)
        fields[COLUMNS, name, "description"] = column.get("description") or None
    return {path: value for path, value in fields.items() if value not in (None, frozenset())}


def entity_columns(entity: JsonObject) -> Iterator[tuple[tuple[str, ...], JsonObject]]:
    """Give the columns of a table, by their paths."""
    return ((path, column) for _, path, column in located_columns(entity))


def located_columns(entity: JsonObject) -> Iterator[tuple[str, tuple[str, ...], JsonObject]]:
    """Give the columns of a table, each with the JSON pointer to it and its path: its name may hold dots as well."""

    def within(
        at: str, columns: Sequence[JsonObject], above: tuple[str, ...]
    ) -> Iterator[tuple[str, tuple[str, ...], JsonObject]]:
        for place, column in enumerate(columns):
            path = (*above, str(column["name"]))
            yield f"{at}/{place}", path, column
            yield from within(f"{at}/{place}/children", column.get("children") or (), path)

    return within("/columns", entity.get("columns") or (), ())


def to_remote_value(path: FieldPath, value: FieldValue) -> FieldValue:
    """Say a value as the server will: of texts, as they are stored."""
    return escape_description(value) or None if is_text(path) and isinstance(value, str) else value


def to_local_value(path: FieldPath, value: FieldValue) -> FieldValue:
    """Say a value of the server as a steward writes it."""
    return unescape_description(value) if is_text(path) and isinstance(value, str) else value


def is_text(path: FieldPath) -> bool:
    """Tell whether a field is a text that the server escapes."""
    return path[-1] == "description" and (len(path) == 1 or path[0] == COLUMNS)


def own_references(entity: JsonObject, key: str) -> list[JsonObject]:
    """Give what an entity refers to by itself, without what it has of the schema or service that it lies in."""
    return [one for one in entity.get(key) or () if not one.get("inherited")]


def _tags(owner: JsonObject) -> frozenset[str]:
    return frozenset(str(label["tagFQN"]) for label in _direct_labels(owner) if not is_term(label))


def _direct_labels(owner: JsonObject) -> list[JsonObject]:
    return [label for label in owner.get("tags") or () if not is_derived(label)]


def is_derived(label: JsonObject) -> bool:
    """Tell whether a label only follows from another, such as from a term that has tags: nobody gave it."""
    return label.get("labelType") == "Derived"


def is_term(label: JsonObject) -> bool:
    """Tell whether a label is a glossary term: a tag may have the same name."""
    return label.get("source") == "Glossary"


def _within(classification: str, word: str | None) -> str | None:
    return word if word is None or word.startswith(f"{classification}.") else f"{classification}.{word}"


def retention_days(period: FieldValue) -> int | None:
    """Read a period of whole days."""
    matched = _DAYS.fullmatch(str(period))
    return int(matched[1]) if matched else None

"""Governance fields of OpenMetadata entities: read from an entity, or derived from a facet."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mappers.canonical_json import JsonObject
from mappers.governance.merge import FieldPath, FieldValue
from mappers.openmetadata.descriptions import escape_description, unescape_description
from mappers.openmetadata.fqn import fqn, split_fqn

#: Fields to request in order to read all governance fields of an entity.
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
#: Custom property with the quality score, which only lineage-bridge writes.
SCORE = (CUSTOM, "lineageBridgeQualityScore")
_CERTIFICATIONS, _TIERS = "Certification", "Tier"
TIER_LABELS, CERTIFICATION_LABELS = f"{_TIERS}.", f"{_CERTIFICATIONS}."
_DAYS = re.compile(r"P(\d+)D")


class TagVocabulary(NamedTuple):
    """Resolves plain words to tags of our classification and terms of our glossary; qualified names are kept."""

    classification: str = "LineageBridge"
    glossary: str = "LineageBridge"
    access: str = "LineageBridgeAccess"
    #: Words that stand for tags of other classifications, such as PII for PII.Sensitive.
    tags: tuple[tuple[str, str], ...] = (("pii", "PII.Sensitive"),)

    def tag_fqn(self, word: str) -> str:
        """Return the fully qualified name of a tag."""
        mapped = dict(self.tags).get(word.lower())
        if mapped:
            return mapped
        return word if "." in word else fqn(self.classification, word)

    def term_fqn(self, word: str) -> str:
        """Return the fully qualified name of a glossary term."""
        return word if "." in word else fqn(self.glossary, word)

    def local_tag(self, name: str) -> str:
        """Return a tag as stewards write it: as a plain word if the word resolves to the tag, otherwise in full."""
        word = name.removeprefix(f"{self.classification}.")
        return word if word and self.tag_fqn(word) == name else name

    def local_term(self, name: str) -> str:
        """Return a glossary term as stewards write it."""
        word = name.removeprefix(f"{self.glossary}.")
        return word if word and self.term_fqn(word) == name else name


def desired_fields(facet: Mapping[str, Any], vocabulary: TagVocabulary) -> dict[FieldPath, FieldValue]:
    """Return the fields that a governance facet sets on an entity; the owners are not resolved yet."""
    scalars: dict[FieldPath, FieldValue] = {
        DESCRIPTION: facet.get("description"),
        DISPLAY_NAME: facet.get("displayName"),
        DOMAIN: facet.get("domain"),
        TIER: _qualified_label(_TIERS, facet.get("tier")),
        CERTIFICATION: _qualified_label(_CERTIFICATIONS, facet.get("certification")),
        RETENTION: f"P{facet['retentionDays']}D" if "retentionDays" in facet else None,
        (CUSTOM, "category"): facet.get("category"),
    }
    sets = {OWNERS: "owners", PRODUCTS: "dataProducts"}
    fields: dict[FieldPath, FieldValue] = {path: value for path, value in scalars.items() if value is not None}
    fields |= {path: frozenset(facet[key]) for path, key in sets.items() if key in facet}
    fields |= _desired_labels(facet, vocabulary)
    fields |= {(CUSTOM, name): value for name, value in (facet.get("customProperties") or {}).items()}
    for column in facet.get("columns", ()):
        fields |= _desired_column_fields(column, vocabulary)
    return fields


def _desired_labels(facet: Mapping[str, Any], vocabulary: TagVocabulary) -> Iterator[tuple[FieldPath, FieldValue]]:
    tags = [vocabulary.tag_fqn(word) for key in ("tags", "classifications") for word in facet.get(key, ())]
    if facet.get("accessPolicies"):
        tags.append(fqn(vocabulary.access, facet["accessTag"]))
    if any(key in facet for key in ("tags", "classifications", "accessPolicies")):
        yield TAGS, frozenset(tags)
    if "glossaryTerms" in facet:
        yield TERMS, frozenset(map(vocabulary.term_fqn, facet["glossaryTerms"]))


def _desired_column_fields(
    column: Mapping[str, Any], vocabulary: TagVocabulary
) -> Iterator[tuple[FieldPath, FieldValue]]:
    tags = [vocabulary.tag_fqn(word) for word in column.get("classifications", ())]
    assigned_words = {split_fqn(tag)[-1].lower() for tag in tags}
    # After PII.Sensitive, the tag LineageBridge.Sensitive would only repeat the word.
    flags = [word for word in ("sensitive", "required") if column.get(word) and word not in assigned_words]
    tags += [vocabulary.tag_fqn(word.capitalize()) for word in flags]
    if tags or "classifications" in column:
        yield (COLUMNS, column["name"], "tags"), frozenset(tags)
    if isinstance(description := column.get("description"), str):
        yield (COLUMNS, column["name"], "description"), description


def entity_fields(entity: JsonObject) -> dict[FieldPath, FieldValue]:
    """Read the governance fields of an entity; descriptions stay escaped, as the server stores them."""
    labels = _tag_fqns(entity)
    tiers = sorted(tag for tag in labels if tag.startswith(TIER_LABELS))
    certification = (entity.get("certification") or {}).get("tagLabel") or {}
    domains = [str(reference["fullyQualifiedName"]) for reference in own_references(entity, "domains")]
    fields: dict[FieldPath, FieldValue] = {
        DESCRIPTION: entity.get("description") or None,
        DISPLAY_NAME: entity.get("displayName"),
        DOMAIN: domains[0] if domains else None,
        TIER: tiers[0] if tiers else None,
        CERTIFICATION: certification.get("tagFQN"),
        RETENTION: entity.get("retentionPeriod"),
        OWNERS: frozenset(
            f"{reference['type']}:{reference['name']}" for reference in own_references(entity, "owners")
        ),
        PRODUCTS: frozenset(
            str(reference["fullyQualifiedName"]) for reference in own_references(entity, "dataProducts")
        ),
        TAGS: labels - {*tiers},
        TERMS: frozenset(str(label["tagFQN"]) for label in _direct_labels(entity) if is_term(label)),
    }
    for name, value in (entity.get("extension") or {}).items():
        fields[CUSTOM, name] = frozenset(map(str, value)) if isinstance(value, list) else value
    for path, column in entity_columns(entity):
        name = ".".join(path)
        fields[COLUMNS, name, "tags"] = _tag_fqns(column)
        fields[COLUMNS, name, "description"] = column.get("description") or None
    return {path: value for path, value in fields.items() if value not in (None, frozenset())}


def entity_columns(entity: JsonObject) -> Iterator[tuple[tuple[str, ...], JsonObject]]:
    """Yield the columns of a table with their paths."""
    return ((path, column) for _, path, column in located_columns(entity))


def located_columns(entity: JsonObject) -> Iterator[tuple[str, tuple[str, ...], JsonObject]]:
    """Yield the columns of a table with JSON pointer and path; the names in a path may contain dots."""

    def walk_columns(
        pointer: str, columns: Sequence[JsonObject], parent: tuple[str, ...]
    ) -> Iterator[tuple[str, tuple[str, ...], JsonObject]]:
        for index, column in enumerate(columns):
            path = (*parent, str(column["name"]))
            yield f"{pointer}/{index}", path, column
            yield from walk_columns(f"{pointer}/{index}/children", column.get("children") or (), path)

    return walk_columns("/columns", entity.get("columns") or (), ())


def to_remote_value(path: FieldPath, value: FieldValue) -> FieldValue:
    """Convert a value to the form that the server stores."""
    if is_escaped(path) and isinstance(value, str):
        return escape_description(value) or None
    return value


def to_local_value(path: FieldPath, value: FieldValue) -> FieldValue:
    """Convert a value from the server to the form in which stewards write it."""
    if is_escaped(path) and isinstance(value, str):
        return unescape_description(value)
    return value


def is_escaped(path: FieldPath) -> bool:
    """Return whether the server escapes the text of this field."""
    return path[-1] == "description" and (len(path) == 1 or path[0] == COLUMNS)


def own_references(entity: JsonObject, key: str) -> list[JsonObject]:
    """Return an entity's own references, without references inherited from its schema or service."""
    return [reference for reference in entity.get(key) or () if not reference.get("inherited")]


def _tag_fqns(owner: JsonObject) -> frozenset[str]:
    return frozenset(str(label["tagFQN"]) for label in _direct_labels(owner) if not is_term(label))


def _direct_labels(owner: JsonObject) -> list[JsonObject]:
    return [label for label in owner.get("tags") or () if not is_derived(label)]


def is_derived(label: JsonObject) -> bool:
    """Return whether another label implies this label, as a glossary term implies its tags."""
    return label.get("labelType") == "Derived"


def is_term(label: JsonObject) -> bool:
    """Return whether a label is a glossary term; a tag may have the same name."""
    return label.get("source") == "Glossary"


def _qualified_label(classification: str, label: str | None) -> str | None:
    if label is None or label.startswith(f"{classification}."):
        return label
    return f"{classification}.{label}"


def retention_days(period: FieldValue) -> int | None:
    """Return the number of days in an ISO 8601 period, or None if the period is not in days."""
    match = _DAYS.fullmatch(str(period))
    return int(match[1]) if match else None

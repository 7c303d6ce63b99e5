"""What governs a dataset, as an OpenMetadata server says it: read from an entity, or wanted by a facet."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mappers.governance.merge import Path, Value
from mappers.openmetadata.fqn import fqn
from mappers.openmetadata.text import as_stored, as_written

Body = dict[str, Any]

#: What a read must ask for, so that all that governs an entity is in the answer.
GOVERNED = ("owners", "tags", "domains", "dataProducts", "extension", "columns", "retentionPeriod", "certification")
GOVERNED_WITHOUT_COLUMNS = ("owners", "tags", "domains", "dataProducts", "extension", "certification")
DESCRIPTION, DISPLAY_NAME, RETENTION = ("description",), ("displayName",), ("retentionPeriod",)
OWNERS, TAGS, TERMS, TIER = ("owners",), ("tags",), ("glossaryTerms",), ("tier",)
DOMAIN, PRODUCTS, CERTIFICATION = ("domain",), ("dataProducts",), ("certification",)
CUSTOM, COLUMNS = "customProperties", "columns"
#: The custom property that holds the quality score, which nobody but us writes.
SCORE = (CUSTOM, "lineageBridgeQualityScore")
_CERTIFICATIONS, _TIERS = "Certification", "Tier"
TIER_LABELS, CERTIFICATION_LABELS = f"{_TIERS}.", f"{_CERTIFICATIONS}."
_DAYS = re.compile(r"P(\d+)D")


class Vocabulary(NamedTuple):
    """Where plain words lie on the server: in a classification and a glossary of ours, unless they are named."""

    classification: str = "LineageBridge"
    glossary: str = "LineageBridge"
    access: str = "LineageBridgeAccess"
    #: Words that are tags of others, such as PII for PII.Sensitive.
    tags: tuple[tuple[str, str], ...] = (("pii", "PII.Sensitive"),)

    def tag(self, word: str) -> str:
        """Name a tag by its fully qualified name."""
        known = dict(self.tags).get(word.lower())
        return known or (word if "." in word else fqn(self.classification, word))

    def term(self, word: str) -> str:
        """Name a term by its fully qualified name."""
        return word if "." in word else fqn(self.glossary, word)

    def tag_word(self, name: str) -> str:
        """Name a tag as a steward writes it: by a plain word only where that means this very tag."""
        word = name.removeprefix(f"{self.classification}.")
        return word if word and self.tag(word) == name else name

    def term_word(self, name: str) -> str:
        """Name a term as a steward writes it."""
        word = name.removeprefix(f"{self.glossary}.")
        return word if word and self.term(word) == name else name


def wanted(facet: Mapping[str, Any], words: Vocabulary) -> dict[Path, Value]:
    """Say what a governance facet wants of an entity; owners are as they were written, to be looked up."""
    single: dict[Path, Value] = {
        DESCRIPTION: facet.get("description"),
        DISPLAY_NAME: facet.get("displayName"),
        DOMAIN: facet.get("domain"),
        TIER: _within(_TIERS, facet.get("tier")),
        CERTIFICATION: _within(_CERTIFICATIONS, facet.get("certification")),
        RETENTION: f"P{facet['retentionDays']}D" if "retentionDays" in facet else None,
        (CUSTOM, "category"): facet.get("category"),
    }
    sets = {OWNERS: "owners", PRODUCTS: "dataProducts"}
    fields: dict[Path, Value] = {path: value for path, value in single.items() if value is not None}
    fields |= {path: frozenset(facet[key]) for path, key in sets.items() if key in facet}
    fields |= _wanted_labels(facet, words)
    fields |= {(CUSTOM, name): value for name, value in (facet.get("customProperties") or {}).items()}
    for column in facet.get("columns", ()):
        fields |= _wanted_of_column(column, words)
    return fields


def _wanted_labels(facet: Mapping[str, Any], words: Vocabulary) -> Iterator[tuple[Path, Value]]:
    said = [key for key in ("tags", "classifications", "accessPolicies") if key in facet]
    tags = [words.tag(word) for key in said if key != "accessPolicies" for word in facet[key]]
    if facet.get("accessPolicies"):
        tags.append(fqn(words.access, facet["accessTag"]))
    if said:
        yield TAGS, frozenset(tags)
    if "glossaryTerms" in facet:
        yield TERMS, frozenset(map(words.term, facet["glossaryTerms"]))


def _wanted_of_column(column: Mapping[str, Any], words: Vocabulary) -> Iterator[tuple[Path, Value]]:
    tags = [words.tag(word) for word in column.get("classifications", ())]
    tags += [words.tag(word.capitalize()) for word in ("sensitive", "required") if column.get(word)]
    if tags or "classifications" in column:
        yield (COLUMNS, column["name"], "tags"), frozenset(tags)
    if isinstance(said := column.get("description"), str):
        yield (COLUMNS, column["name"], "description"), said


def found(entity: Body) -> dict[Path, Value]:
    """Say what governs an entity, its texts as they are stored."""
    labels = _tags(entity)
    tiers = sorted(tag for tag in labels if tag.startswith(TIER_LABELS))
    certification = (entity.get("certification") or {}).get("tagLabel") or {}
    domains = [str(one["fullyQualifiedName"]) for one in own(entity, "domains")]
    fields: dict[Path, Value] = {
        DESCRIPTION: entity.get("description") or None,
        DISPLAY_NAME: entity.get("displayName"),
        DOMAIN: domains[0] if domains else None,
        TIER: tiers[0] if tiers else None,
        CERTIFICATION: certification.get("tagFQN"),
        RETENTION: entity.get("retentionPeriod"),
        OWNERS: frozenset(f"{one['type']}:{one['name']}" for one in own(entity, "owners")),
        PRODUCTS: frozenset(str(one["fullyQualifiedName"]) for one in own(entity, "dataProducts")),
        TAGS: labels - {*tiers},
        TERMS: frozenset(str(label["tagFQN"]) for label in _given(entity) if is_term(label)),
    }
    for name, value in (entity.get("extension") or {}).items():
        fields[CUSTOM, name] = frozenset(map(str, value)) if isinstance(value, list) else value
    for path, column in columns_of(entity):
        name = ".".join(path)
        fields[COLUMNS, name, "tags"] = _tags(column)
        fields[COLUMNS, name, "description"] = column.get("description") or None
    return {path: value for path, value in fields.items() if value not in (None, frozenset())}


def columns_of(entity: Body) -> Iterator[tuple[tuple[str, ...], Body]]:
    """Give the columns of a table, by their paths."""
    return ((path, column) for _, path, column in located(entity))


def located(entity: Body) -> Iterator[tuple[str, tuple[str, ...], Body]]:
    """Give the columns of a table, each with the JSON pointer to it and its path: its name may hold dots as well."""

    def within(
        at: str, columns: Sequence[Body], above: tuple[str, ...]
    ) -> Iterator[tuple[str, tuple[str, ...], Body]]:
        for place, column in enumerate(columns):
            path = (*above, str(column["name"]))
            yield f"{at}/{place}", path, column
            yield from within(f"{at}/{place}/children", column.get("children") or (), path)

    return within("/columns", entity.get("columns") or (), ())


def as_found(path: Path, value: Value) -> Value:
    """Say a value as the server will: of texts, as they are stored."""
    return as_stored(value) or None if is_text(path) and isinstance(value, str) else value


def as_said(path: Path, value: Value) -> Value:
    """Say a value of the server as a steward writes it."""
    return as_written(value) if is_text(path) and isinstance(value, str) else value


def is_text(path: Path) -> bool:
    """Tell whether a field is a text that the server escapes."""
    return path[-1] == "description" and (len(path) == 1 or path[0] == COLUMNS)


def own(entity: Body, key: str) -> list[Body]:
    """Give what an entity refers to by itself, without what it has of the schema or service that it lies in."""
    return [one for one in entity.get(key) or () if not one.get("inherited")]


def _tags(owner: Body) -> frozenset[str]:
    return frozenset(str(label["tagFQN"]) for label in _given(owner) if not is_term(label))


def _given(owner: Body) -> list[Body]:
    return [label for label in owner.get("tags") or () if not is_derived(label)]


def is_derived(label: Body) -> bool:
    """Tell whether a label only follows from another, such as from a term that has tags: nobody gave it."""
    return label.get("labelType") == "Derived"


def is_term(label: Body) -> bool:
    """Tell whether a label is a glossary term: a tag may have the same name."""
    return label.get("source") == "Glossary"


def _within(classification: str, word: str | None) -> str | None:
    return word if word is None or word.startswith(f"{classification}.") else f"{classification}.{word}"


def days(period: Value) -> int | None:
    """Read a period of whole days."""
    matched = _DAYS.fullmatch(str(period))
    return int(matched[1]) if matched else None

"""Governance fields as patches, and in the form in which stewards write them."""

from typing import Any

import pytest

from mappers.openmetadata.fqn import is_valid_fqn
from mappers.openmetadata.governance import DOMAIN, OWNERS, TAGS, TERMS, TagVocabulary, entity_columns, entity_fields
from mappers.openmetadata.governance_patch import NO_REFERENCES, ReferenceIds, build_patch
from mappers.openmetadata.remote_changes import import_remote_changes


def domains(*ids: str) -> list[dict[str, Any]]:
    return [{"id": domain_id, "type": "domain"} for domain_id in ids]


@pytest.mark.parametrize(
    ("existing", "domain", "expected"),
    [
        ([], "new", ["id of new"]),
        (["a"], "new", ["id of new"]),
        (["a", "b"], "new", ["id of new", "b"]),
        (["a", "id of new"], "new", ["id of new"]),
        (["a", "b"], None, ["b"]),
        (["a"], None, []),
    ],
)
def test_other_domains_are_kept(existing: list[str], domain: str | None, expected: list[str]) -> None:
    entity = {"domains": domains(*existing)}
    patch = build_patch(entity, {DOMAIN: domain}, ReferenceIds({}, {"new": "id of new"}, {}))
    assert patch == [{"op": "add", "path": "/domains", "value": domains(*expected)}]


VOCABULARY = TagVocabulary("Ours", "Glossary", "Access")


@pytest.mark.parametrize(
    ("tag", "local_name"),
    [
        ("Ours.a", "a"),
        ("Ours.PII", "Ours.PII"),  # the plain name resolves to another tag
        ("Glossary.a", "Glossary.a"),  # a classification with the name of our glossary
        ('Ours."a.b"', 'Ours."a.b"'),
        ("Ours.a.b", "Ours.a.b"),
        ("PII.Sensitive", "PII.Sensitive"),
        ("Ours.", "Ours."),
    ],
)
def test_local_tag_resolves_to_the_same_tag(tag: str, local_name: str) -> None:
    assert import_remote_changes({}, {TAGS: frozenset({tag})}, VOCABULARY, {}).changes == {
        ("tags",): frozenset({local_name})
    }
    assert VOCABULARY.tag_fqn(local_name) == tag


@pytest.mark.parametrize(
    ("term", "local_name"), [("Glossary.a", "a"), ("Ours.a", "Ours.a"), ("Glossary.a.b", "Glossary.a.b")]
)
def test_local_term_resolves_to_the_same_term(term: str, local_name: str) -> None:
    assert import_remote_changes({}, {TERMS: frozenset({term})}, VOCABULARY, {}).changes == {
        ("glossaryTerms",): frozenset({local_name})
    }
    assert VOCABULARY.term_fqn(local_name) == term


@pytest.mark.parametrize(
    ("name", "valid"),
    [("a.b", True), ('a."b.c".d', True), ("ünï 中.it's/x", True), ('a.b"c', False), ('a."b', False), ("a.", False), ("", False)],
)  # fmt: skip
def test_is_valid_fqn(name: str, valid: bool) -> None:
    assert is_valid_fqn(name) is valid


TABLE = {
    "columns": [
        {"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]},
        {"name": "a.x"},
        {"name": "d"},
    ]
}


@pytest.mark.parametrize(
    ("column", "pointer"),
    [("a", "/columns/0"), ("a.b", "/columns/0/children/0"), ("a.b.c", "/columns/0/children/0/children/0"),
     ("a.x", "/columns/1"), ("d", "/columns/2")],
)  # fmt: skip
def test_column_is_found_by_path_and_by_name_with_dots(column: str, pointer: str) -> None:
    patch = build_patch(TABLE, {("columns", column, "tags"): frozenset({"PII.X"})}, NO_REFERENCES)
    assert [operation["path"] for operation in patch] == [f"{pointer}/tags"]
    patch = build_patch(TABLE, {("columns", column, "description"): "D"}, NO_REFERENCES)
    assert patch == [{"op": "add", "path": f"{pointer}/description", "value": "D"}]
    assert column in {".".join(path) for path, _ in entity_columns(TABLE)}


def label(name: str, source: str = "Classification") -> dict[str, Any]:
    return {"tagFQN": name, "source": source, "labelType": "Manual"}


ENTITY = {"tags": [label("Ours.x", "Glossary"), label("Ours.x"), label("PII.None")]}


@pytest.mark.parametrize(
    ("changes", "labels"),
    [
        ({TAGS: frozenset({"Ours.x", "PII.None"})}, {("Ours.x", "Glossary"), ("Ours.x", "Classification"), ("PII.None", "Classification")}),
        ({TAGS: frozenset()}, {("Ours.x", "Glossary")}),
        ({TERMS: frozenset()}, {("Ours.x", "Classification"), ("PII.None", "Classification")}),
        ({TERMS: frozenset({"Ours.y"})}, {("Ours.x", "Classification"), ("PII.None", "Classification"), ("Ours.y", "Glossary")}),
    ],
)  # fmt: skip
def test_tag_and_term_with_one_name_are_distinct(changes: dict[Any, Any], labels: set[tuple[str, str]]) -> None:
    assert entity_fields(ENTITY)[TAGS] == {"Ours.x", "PII.None"}
    assert entity_fields(ENTITY)[TERMS] == {"Ours.x"}
    (operation,) = build_patch(ENTITY, changes, NO_REFERENCES)
    assert {(item["tagFQN"], item["source"]) for item in operation["value"]} == labels


def test_derived_and_inherited_values_are_not_changed() -> None:
    derived = label("PII.Sensitive") | {"labelType": "Derived"}
    inherited = {"id": "1", "name": "ann", "type": "user", "fullyQualifiedName": "ann", "inherited": True}
    entity = {
        "tags": [label("Ours.x"), derived],
        "owners": [inherited],
        "domains": [inherited],
        "dataProducts": [inherited],
    }
    assert entity_fields(entity) == {TAGS: frozenset({"Ours.x"})}
    (operation,) = build_patch(entity, {TAGS: frozenset({"Ours.y"})}, NO_REFERENCES)
    assert [item["tagFQN"] for item in operation["value"]] == ["PII.Sensitive", "Ours.y"], (
        "the derived label is unchanged"
    )
    (operation,) = build_patch(
        entity, {OWNERS: frozenset({"user:bob"})}, ReferenceIds({"user:bob": ("2", "user")}, {}, {})
    )
    assert operation["value"] == [{"id": "2", "type": "user"}]

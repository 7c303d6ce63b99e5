"""What governs an entity, as a patch says it and as a steward writes it."""

from typing import Any

import pytest

from mappers.openmetadata.fqn import is_valid_fqn
from mappers.openmetadata.governance import DOMAIN, OWNERS, TAGS, TERMS, TagVocabulary, entity_columns, entity_fields
from mappers.openmetadata.governance_patch import NO_REFERENCES, ReferenceIds, build_patch
from mappers.openmetadata.remote_changes import import_remote_changes


def domains(*ids: str) -> list[dict[str, Any]]:
    return [{"id": one, "type": "domain"} for one in ids]


@pytest.mark.parametrize(
    ("there", "domain", "said"),
    [
        ([], "new", ["id of new"]),
        (["a"], "new", ["id of new"]),
        (["a", "b"], "new", ["id of new", "b"]),
        (["a", "id of new"], "new", ["id of new"]),
        (["a", "b"], None, ["b"]),
        (["a"], None, []),
    ],
)
def test_the_domains_of_others_stay(there: list[str], domain: str | None, said: list[str]) -> None:
    entity = {"domains": domains(*there)}
    made = build_patch(entity, {DOMAIN: domain}, ReferenceIds({}, {"new": "id of new"}, {}))
    assert made == [{"op": "add", "path": "/domains", "value": domains(*said)}]


WORDS = TagVocabulary("Ours", "Glossary", "Access")


@pytest.mark.parametrize(
    ("tag", "word"),
    [
        ("Ours.a", "a"),
        ("Ours.PII", "Ours.PII"),  # the plain word is another tag
        ("Glossary.a", "Glossary.a"),  # a classification that is called like our glossary
        ('Ours."a.b"', 'Ours."a.b"'),
        ("Ours.a.b", "Ours.a.b"),
        ("PII.Sensitive", "PII.Sensitive"),
        ("Ours.", "Ours."),
    ],
)
def test_a_tag_is_written_so_that_it_means_the_same(tag: str, word: str) -> None:
    assert import_remote_changes({}, {TAGS: frozenset({tag})}, WORDS, {}).changes == {("tags",): frozenset({word})}
    assert WORDS.tag_fqn(word) == tag


@pytest.mark.parametrize(
    ("term", "word"), [("Glossary.a", "a"), ("Ours.a", "Ours.a"), ("Glossary.a.b", "Glossary.a.b")]
)
def test_a_term_is_written_so_that_it_means_the_same(term: str, word: str) -> None:
    assert import_remote_changes({}, {TERMS: frozenset({term})}, WORDS, {}).changes == {
        ("glossaryTerms",): frozenset({word})
    }
    assert WORDS.term_fqn(word) == term


@pytest.mark.parametrize(
    ("name", "taken"),
    [("a.b", True), ('a."b.c".d', True), ("ünï 中.it's/x", True), ('a.b"c', False), ('a."b', False), ("a.", False), ("", False)],
)  # fmt: skip
def test_a_name_is_one_that_can_be_taken_apart(name: str, taken: bool) -> None:
    assert is_valid_fqn(name) is taken


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
def test_a_column_is_found_by_its_path_and_by_a_name_that_holds_dots(column: str, pointer: str) -> None:
    made = build_patch(TABLE, {("columns", column, "tags"): frozenset({"PII.X"})}, NO_REFERENCES)
    assert [one["path"] for one in made] == [f"{pointer}/tags"]
    made = build_patch(TABLE, {("columns", column, "description"): "D"}, NO_REFERENCES)
    assert made == [{"op": "add", "path": f"{pointer}/description", "value": "D"}]
    assert column in {".".join(path) for path, _ in entity_columns(TABLE)}


def label(name: str, source: str = "Classification") -> dict[str, Any]:
    return {"tagFQN": name, "source": source, "labelType": "Manual"}


BOTH = {"tags": [label("Ours.x", "Glossary"), label("Ours.x"), label("PII.None")]}


@pytest.mark.parametrize(
    ("changes", "labels"),
    [
        ({TAGS: frozenset({"Ours.x", "PII.None"})}, {("Ours.x", "Glossary"), ("Ours.x", "Classification"), ("PII.None", "Classification")}),
        ({TAGS: frozenset()}, {("Ours.x", "Glossary")}),
        ({TERMS: frozenset()}, {("Ours.x", "Classification"), ("PII.None", "Classification")}),
        ({TERMS: frozenset({"Ours.y"})}, {("Ours.x", "Classification"), ("PII.None", "Classification"), ("Ours.y", "Glossary")}),
    ],
)  # fmt: skip
def test_a_tag_and_a_term_of_one_name_are_two(changes: dict[Any, Any], labels: set[tuple[str, str]]) -> None:
    assert entity_fields(BOTH)[TAGS] == {"Ours.x", "PII.None"}
    assert entity_fields(BOTH)[TERMS] == {"Ours.x"}
    (made,) = build_patch(BOTH, changes, NO_REFERENCES)
    assert {(one["tagFQN"], one["source"]) for one in made["value"]} == labels


def test_what_nobody_gave_to_the_entity_itself_is_nobodys_change() -> None:
    derived = label("PII.Sensitive") | {"labelType": "Derived"}
    ref = {"id": "1", "name": "ann", "type": "user", "fullyQualifiedName": "ann", "inherited": True}
    entity = {"tags": [label("Ours.x"), derived], "owners": [ref], "domains": [ref], "dataProducts": [ref]}
    assert entity_fields(entity) == {TAGS: frozenset({"Ours.x"})}
    (made,) = build_patch(entity, {TAGS: frozenset({"Ours.y"})}, NO_REFERENCES)
    assert [one["tagFQN"] for one in made["value"]] == ["PII.Sensitive", "Ours.y"], "the server has it as it was"
    (made,) = build_patch(
        entity, {OWNERS: frozenset({"user:bob"})}, ReferenceIds({"user:bob": ("2", "user")}, {}, {})
    )
    assert made["value"] == [{"id": "2", "type": "user"}]

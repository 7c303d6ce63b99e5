"""Types and custom properties, where no recorded exchange says it."""

import pytest

from tests.standins.client import patch, put, table

SCORE = {"name": "score", "description": "of quality"}


def type_of(client, name, fields=""):
    return client.get(f"/metadata/types/name/{name}", params={"fields": fields} if fields else {})


def defined(client, of="table", name="score", kind="integer", **more):
    entity, field = type_of(client, of).json()["id"], type_of(client, kind).json()["id"]
    body = {**SCORE, "name": name, "propertyType": {"id": field, "type": "type"}, **more}
    return client.put(f"/metadata/types/{entity}", json=body)


@pytest.mark.parametrize(
    "name", ["table", "container", "topic", "pipeline", "string", "integer", "number", "enum", "markdown"]
)
def test_types_are_read_by_name(standin, name):
    assert type_of(standin[1], name).json()["name"] == name


def test_custom_properties_are_shown_when_they_are_asked_for(standin):
    assert defined(standin[1]).headers["X-OpenMetadata-Change"] == "entityUpdated"
    (one,) = type_of(standin[1], "table", "customProperties").json()["customProperties"]
    assert (one["name"], one["propertyType"]["name"]) == ("score", "integer")
    assert "customProperties" not in type_of(standin[1], "table").json()
    assert type_of(standin[1], "topic", "customProperties").json()["customProperties"] == []


VALUES = {"values": ["low", "high"], "multiSelect": False}


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({}, 200),
        ({"of": "string"}, 400),
        ({"name": "a/b"}, 400),
        ({"propertyType": {"id": "00000000-0000-0000-0000-000000000000", "type": "type"}}, 404),
        ({"propertyType": {"type": "type"}}, 400),
        ({"kind": "enum"}, 400),
        ({"kind": "enum", "customPropertyConfig": {"config": {"values": ["a", "a"]}}}, 400),
        ({"kind": "enum", "customPropertyConfig": {"config": VALUES}}, 200),
        ({"unknown": 1}, 400),
    ],
)
def test_what_is_taken_as_a_definition(standin, said, status):
    assert defined(standin[1], **said).status_code == status


@pytest.mark.parametrize(
    ("kind", "value", "status"),
    [
        ("integer", 3, 200), ("integer", 3.5, 400), ("integer", "3", 400), ("integer", True, 400),
        ("number", 3, 200), ("number", 3.5, 200), ("number", "x", 400),
        ("string", "x", 200), ("string", 3, 400), ("markdown", "*x*", 200),
        ("enum", ["low"], 200), ("enum", "low", 400), ("enum", ["nope"], 400), ("enum", ["low", "high"], 400),
    ],
)  # fmt: skip
def test_values_are_of_the_type_of_their_property(standin, kind, value, status):
    client = standin[1]
    defined(client, kind=kind, **({"customPropertyConfig": {"config": VALUES}} if kind == "enum" else {}))
    made = put(client, "/tables", **table("t"))
    answer = patch(client, f"/tables/{made['id']}", {"op": "add", "path": "/extension", "value": {"score": value}})
    assert answer.status_code == status, answer.text

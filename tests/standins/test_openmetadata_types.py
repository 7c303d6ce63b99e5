"""Behaviour of types and custom properties that is not recorded."""

import pytest

from tests.standins.client import patch, put, table

SCORE = {"name": "score", "description": "of quality"}


def read_type(client, name, fields=""):
    return client.get(f"/metadata/types/name/{name}", params={"fields": fields} if fields else {})


def define_property(client, entity_type="table", name="score", kind="integer", **attributes):
    entity, field = read_type(client, entity_type).json()["id"], read_type(client, kind).json()["id"]
    body = {**SCORE, "name": name, "propertyType": {"id": field, "type": "type"}, **attributes}
    return client.put(f"/metadata/types/{entity}", json=body)


@pytest.mark.parametrize(
    "name", ["table", "container", "topic", "pipeline", "string", "integer", "number", "enum", "markdown"]
)
def test_types_are_read_by_name(standin, name):
    assert read_type(standin[1], name).json()["name"] == name


def test_custom_properties_are_shown_on_request(standin):
    assert define_property(standin[1]).headers["X-OpenMetadata-Change"] == "entityUpdated"
    (definition,) = read_type(standin[1], "table", "customProperties").json()["customProperties"]
    assert (definition["name"], definition["propertyType"]["name"]) == ("score", "integer")
    assert "customProperties" not in read_type(standin[1], "table").json()
    assert read_type(standin[1], "topic", "customProperties").json()["customProperties"] == []


VALUES = {"values": ["low", "high"], "multiSelect": False}


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({}, 200),
        ({"entity_type": "string"}, 400),
        ({"name": "a/b"}, 400),
        ({"propertyType": {"id": "00000000-0000-0000-0000-000000000000", "type": "type"}}, 404),
        ({"propertyType": {"type": "type"}}, 400),
        ({"kind": "enum"}, 400),
        ({"kind": "enum", "customPropertyConfig": {"config": {"values": ["a", "a"]}}}, 400),
        ({"kind": "enum", "customPropertyConfig": {"config": VALUES}}, 200),
        ({"unknown": 1}, 400),
    ],
)
def test_property_definitions(standin, arguments, status):
    assert define_property(standin[1], **arguments).status_code == status


@pytest.mark.parametrize(
    ("kind", "value", "status"),
    [
        ("integer", 3, 200), ("integer", 3.5, 400), ("integer", "3", 400), ("integer", True, 400),
        ("number", 3, 200), ("number", 3.5, 200), ("number", "x", 400),
        ("string", "x", 200), ("string", 3, 400), ("markdown", "*x*", 200),
        ("enum", ["low"], 200), ("enum", "low", 400), ("enum", ["nope"], 400), ("enum", ["low", "high"], 400),
    ],
)  # fmt: skip
def test_property_values_must_have_type_of_property(standin, kind, value, status):
    client = standin[1]
    define_property(client, kind=kind, **({"customPropertyConfig": {"config": VALUES}} if kind == "enum" else {}))
    created = put(client, "/tables", **table("t"))
    response = patch(
        client, f"/tables/{created['id']}", {"op": "add", "path": "/extension", "value": {"score": value}}
    )
    assert response.status_code == status, response.text

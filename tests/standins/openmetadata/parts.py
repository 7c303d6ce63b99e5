"""Completes parts of entities: columns, fields, tasks and connections."""

from typing import Any

from tests.standins.openmetadata.columns import fill_lists, qualify
from tests.standins.openmetadata.errors import ApiError
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.names import quote_name

Data = dict[str, Any]


def complete(kind: Kind, data: Data, name: str, fqn: str) -> None:
    """Fill in generated values of the parts of an entity."""
    if "columns" in data:
        qualify(data["columns"], fqn)
    if "dataModel" in data and kind.name == "container":
        model = data["dataModel"]
        fill_lists(model["columns"])
        qualify(model["columns"], fqn)
        data["dataModel"] = {"isPartitioned": False, **model}
    for schema in ("messageSchema", "requestSchema", "responseSchema"):
        if schema in data:
            qualify(data[schema].get("schemaFields", []), fqn)
    if "tasks" in data:
        data["tasks"] = [_task(task, fqn) for task in data["tasks"]]
    if "connection" in data:
        data["connection"] = _connection(data, name)


_TASK_ORDER = [
    "name",
    "displayName",
    "fullyQualifiedName",
    "description",
    "sourceUrl",
    "downstreamTasks",
    "taskType",
    "taskSQL",
    "tags",
]


def _task(task: Data, fqn: str) -> Data:
    full = {"tags": [], **task, "fullyQualifiedName": f"{fqn}.{quote_name(task['name'])}"}
    return {name: full[name] for name in dict.fromkeys((*_TASK_ORDER, *full)) if name in full}


def _connection(data: Data, name: str) -> Data:
    """Check that the type of a connection matches its service."""
    config = dict(data["connection"].get("config", {}))
    expected = data["serviceType"]
    actual = config.get("type", expected)
    if actual != expected:
        raise ApiError(
            400,
            f"Failed to convert [{name}] to type [{expected}]. Review the connection.\nCannot construct instance of "
            f"`org.openmetadata.schema.services.connections.database.{expected}Connection${expected}Type`, problem: {actual}\n"
            " at [Source: UNKNOWN; byte offset: #UNKNOWN] (through reference chain: "
            f'org.openmetadata.schema.services.connections.database.{expected}Connection["type"])',
        )
    if expected == "CustomDatabase":
        config.setdefault("supportsMetadataExtraction", True)
    return {"config": config}

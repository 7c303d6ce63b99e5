"""Requests that make what recorded files presuppose."""

from typing import Any

from tests.standins.replay import Json

COLUMN = {"name": "id", "dataType": "BIGINT"}


def put(path: str, body: Any, who: str = "bot") -> Json:
    return _step("PUT", path, body, "application/json", who)


def post(path: str, body: Any, who: str = "bot") -> Json:
    return _step("POST", path, body, "application/json", who)


def patch(path: str, operations: Any, who: str = "bot") -> Json:
    return _step("PATCH", path, operations, "application/json-patch+json", who)


def delete(path: str, who: str = "bot") -> Json:
    return {"method": "DELETE", "path": f"/api/v1/{path}", "headers": {"Authorization": f"Bearer <{who}>"}}


def _step(method: str, path: str, body: Any, media: str, who: str) -> Json:
    headers = {"Content-Type": media, "Authorization": f"Bearer <{who}>"}
    return {"method": method, "path": f"/api/v1/{path}", "headers": headers, "body": body}


def service(kind: str, name: str, type_: str) -> Json:
    return put(f"services/{kind}Services", {"name": name, "serviceType": type_})


def schema(name: str) -> list[Json]:
    """Make a service, the database `d` and the schema `s` in it."""
    return [
        service("database", name, "CustomDatabase"),
        put("databases", {"name": "d", "service": name}),
        put("databaseSchemas", {"name": "s", "database": f"{name}.d"}),
    ]


def tables(parent: str, *names: str, columns: Any = (COLUMN,)) -> list[Json]:
    return [put("tables", table_named(parent, name, columns)) for name in names]


def table_named(parent: str, name: str, columns: Any = (COLUMN,)) -> Json:
    return {"name": name, "databaseSchema": parent, "columns": list(columns)}

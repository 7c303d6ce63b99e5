"""Requests for the setup of replays."""

from typing import Any

from tests.standins.replay import Json

COLUMN = {"name": "id", "dataType": "BIGINT"}


def put(path: str, body: Any, principal: str = "bot") -> Json:
    return _step("PUT", path, body, "application/json", principal)


def post(path: str, body: Any, principal: str = "bot") -> Json:
    return _step("POST", path, body, "application/json", principal)


def patch(path: str, operations: Any, principal: str = "bot") -> Json:
    return _step("PATCH", path, operations, "application/json-patch+json", principal)


def delete(path: str, principal: str = "bot") -> Json:
    return {"method": "DELETE", "path": f"/api/v1/{path}", "headers": {"Authorization": f"Bearer <{principal}>"}}


def _step(method: str, path: str, body: Any, media_type: str, principal: str) -> Json:
    headers = {"Content-Type": media_type, "Authorization": f"Bearer <{principal}>"}
    return {"method": method, "path": f"/api/v1/{path}", "headers": headers, "body": body}


def service(kind: str, name: str, type_: str) -> Json:
    return put(f"services/{kind}Services", {"name": name, "serviceType": type_})


def schema(name: str) -> list[Json]:
    """Requests for a service, its database `d` and schema `s`."""
    return [
        service("database", name, "CustomDatabase"),
        put("databases", {"name": "d", "service": name}),
        put("databaseSchemas", {"name": "s", "database": f"{name}.d"}),
    ]


def tables(parent: str, *names: str, columns: Any = (COLUMN,)) -> list[Json]:
    return [put("tables", table_body(parent, name, columns)) for name in names]


def table_body(parent: str, name: str, columns: Any = (COLUMN,)) -> Json:
    return {"name": name, "databaseSchema": parent, "columns": list(columns)}

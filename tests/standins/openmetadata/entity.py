"""Entities of the store."""

import uuid
from collections.abc import Iterator
from typing import Any

from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.names import join_fqn

Data = dict[str, Any]


class Entity:
    """An entity: current data and those of earlier versions."""

    __slots__ = ("children", "data", "history", "id", "kind", "parent")

    def __init__(self, kind: Kind, parent: "Entity | None", name: str) -> None:
        self.id = str(uuid.uuid4())
        self.kind = kind
        self.parent = parent
        self.children: dict[str, Entity] = {}
        self.history: list[Data] = []
        self.data: Data = {
            "name": name,
            "fullyQualifiedName": join_fqn(parent.fqn if parent else "", name),
            "version": 0.1,
            "deleted": False,
        }

    @property
    def fqn(self) -> str:
        return str(self.data["fullyQualifiedName"])

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def deleted(self) -> bool:
        return bool(self.data["deleted"])

    def ancestors(self) -> Iterator["Entity"]:
        """Parents, nearest first; the service is last."""
        ancestor = self.parent
        while ancestor is not None:
            yield ancestor
            ancestor = ancestor.parent

    def reference(self, href: str | None = None) -> Data:
        """EntityReference, as shown by other entities."""
        out: Data = {
            "id": self.id,
            "type": self.kind.name,
            "name": self.name,
            "fullyQualifiedName": self.fqn,
            "displayName": self.data.get("displayName") or self.name,
            "deleted": self.deleted,
        }
        if self.data.get("description"):
            out["description"] = self.data["description"]
        if href is not None:
            out["href"] = f"{href}/api/v1/{self.kind.path}/{self.id}"
        return out

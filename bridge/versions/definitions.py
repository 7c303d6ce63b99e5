"""Registered definitions of processes and DAGs, versioned by content."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec

from bridge.errors import NotFound, StateConflict
from bridge.store.database import Database
from mappers.canonical.identity import digest, job_id, name_based_id

DefinitionKind = Literal["process", "dag"]

_COLUMNS = (
    "process_id, content_hash, kind, namespace, name, number, version, definition_json, registered_by, registered_at,"
    " is_active"
)
_OF = f"""
SELECT {_COLUMNS} FROM process_definition
WHERE org_id = ?1 AND process_id = ?2 AND number < ?3 ORDER BY number DESC LIMIT ?4
"""
_ALL = f"""
SELECT {_COLUMNS} FROM process_definition
WHERE org_id = ?1 AND kind = ?2 AND is_active AND (namespace > ?3 OR namespace = ?3 AND name > ?4)
ORDER BY namespace, name LIMIT ?5
"""
_ADD = f"""
INSERT INTO process_definition (org_id, {_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
"""
_SETTLE = "UPDATE process_definition SET is_active = ?3 WHERE org_id = ?1 AND process_id = ?2 AND is_active <> ?3"
_ACTIVATE = f"{_SETTLE} AND content_hash = ?4"
MAX_NUMBER = (1 << 63) - 1


class RegisteredDefinition(NamedTuple):
    """What a process or DAG is, or was, defined as."""

    process: bytes
    content_hash: bytes
    kind: DefinitionKind
    namespace: str
    name: str
    number: int
    version: str
    definition: str
    registered_by: str
    registered_at: int
    is_active: bool


def process_id(org: str, kind: DefinitionKind, namespace: str, name: str) -> bytes:
    """Identify a process as the store identifies its job; a DAG may have the name of a process."""
    return job_id(org, namespace, name) if kind == "process" else name_based_id("dag", org, namespace, name)


class DefinitionStore:
    """Keeps definitions."""

    def __init__(self, db: Database, org: str, clock: Callable[[], int]) -> None:
        self._db = db
        self.org = org
        self._clock = clock

    def list_versions(
        self, process: bytes, limit: int = MAX_NUMBER, before: int = MAX_NUMBER
    ) -> list[RegisteredDefinition]:
        """List the definitions of a process, the newest first."""
        return [_definition(row) for row in self._db.fetch_all(_OF, self.org, process, before, limit)]

    def get_active(self, process: bytes) -> RegisteredDefinition | None:
        """Give the definition of a process that is in effect."""
        return next((one for one in self.list_versions(process) if one.is_active), None)

    def list_active(
        self, kind: DefinitionKind = "process", limit: int = MAX_NUMBER, behind: tuple[str, str] = ("", "")
    ) -> list[RegisteredDefinition]:
        """List what is in effect, by namespaces and names, those behind a pair of them."""
        return [_definition(row) for row in self._db.fetch_all(_ALL, self.org, kind, *behind, limit)]

    def register(
        self, kind: DefinitionKind, namespace: str, name: str, definition: Any, by: str, *, version: str | None = None
    ) -> RegisteredDefinition:
        """Let a definition be in effect; one that is known already keeps its number and version."""
        process = process_id(self.org, kind, namespace, name)
        content = msgspec.json.encode(definition, order="sorted")
        before = self.list_versions(process)
        known = next((one for one in before if one.content_hash == digest(content)), None)
        if known is None:
            number = before[0].number + 1 if before else 1
            called = version or str(number)
            if any(one.version == called for one in before):
                raise StateConflict(f"version {called!r} of {namespace} {name} is defined already, and otherwise")
            known = RegisteredDefinition(
                process,
                digest(content),
                kind,
                namespace,
                name,
                number,
                called,
                content.decode(),
                by,
                self._clock(),
                False,
            )
            self._db.execute(_ADD, self.org, *known)
        return self._activated(known)

    def content_hash(self, definition: Any) -> bytes:
        """Give the hash by which a definition is known."""
        return digest(msgspec.json.encode(definition, order="sorted"))

    def deactivate(self, kind: DefinitionKind, namespace: str, name: str) -> None:
        """Let no definition be in effect any more; all are kept."""
        self._db.execute(_SETTLE, self.org, process_id(self.org, kind, namespace, name), False)

    def activate(self, process: bytes, version: str) -> RegisteredDefinition:
        """Let a version that is known be in effect again; raises UnknownName."""
        known = next((one for one in self.list_versions(process) if one.version == version), None)
        if known is None:
            raise NotFound(f"no version {version!r} of the process in the store")
        return self._activated(known)

    def _activated(self, known: RegisteredDefinition) -> RegisteredDefinition:
        if not known.is_active:
            self._db.execute(_SETTLE, self.org, known.process, False)
            self._db.execute(_ACTIVATE, self.org, known.process, True, known.content_hash)
        return known._replace(is_active=True)


def _definition(row: tuple[Any, ...]) -> RegisteredDefinition:
    process, hash_, *middle, active = row
    return RegisteredDefinition._make((bytes(process), bytes(hash_), *middle, bool(active)))

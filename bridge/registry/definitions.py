"""What processes and DAGs are defined as: every content once, and which of them is in effect."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec

from bridge.store.database import Database
from mappers.canonical.identity import digest, job_id, named_id
from mappers.errors import Conflict, UnknownName

Kind = Literal["process", "dag"]

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
EVERY_NUMBER = (1 << 63) - 1


class Definition(NamedTuple):
    """What a process or DAG is, or was, defined as."""

    process: bytes
    hash: bytes
    kind: Kind
    namespace: str
    name: str
    number: int
    version: str
    definition: str
    by: str
    at: int
    active: bool


def process_id(org: str, kind: Kind, namespace: str, name: str) -> bytes:
    """Identify a process as the store identifies its job; a DAG may have the name of a process."""
    return job_id(org, namespace, name) if kind == "process" else named_id("dag", org, namespace, name)


class Definitions:
    """Keeps definitions."""

    def __init__(self, db: Database, org: str, clock: Callable[[], int]) -> None:
        self._db = db
        self.org = org
        self._clock = clock

    def of(self, process: bytes, limit: int = EVERY_NUMBER, before: int = EVERY_NUMBER) -> list[Definition]:
        """List the definitions of a process, the newest first."""
        return [_definition(row) for row in self._db.rows(_OF, self.org, process, before, limit)]

    def active(self, process: bytes) -> Definition | None:
        """Give the definition of a process that is in effect."""
        return next((one for one in self.of(process) if one.active), None)

    def all_active(
        self, kind: Kind = "process", limit: int = EVERY_NUMBER, behind: tuple[str, str] = ("", "")
    ) -> list[Definition]:
        """List what is in effect, by namespaces and names, those behind a pair of them."""
        return [_definition(row) for row in self._db.rows(_ALL, self.org, kind, *behind, limit)]

    def register(
        self, kind: Kind, namespace: str, name: str, definition: Any, by: str, *, version: str | None = None
    ) -> Definition:
        """Let a definition be in effect; one that is known already keeps its number and version."""
        process = process_id(self.org, kind, namespace, name)
        content = msgspec.json.encode(definition, order="sorted")
        before = self.of(process)
        known = next((one for one in before if one.hash == digest(content)), None)
        if known is None:
            number = before[0].number + 1 if before else 1
            called = version or str(number)
            if any(one.version == called for one in before):
                raise Conflict(f"version {called!r} of {namespace} {name} is defined already, and otherwise")
            known = Definition(
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
            self._db.run(_ADD, self.org, *known)
        return self._activated(known)

    def hash_of(self, definition: Any) -> bytes:
        """Give the hash by which a definition is known."""
        return digest(msgspec.json.encode(definition, order="sorted"))

    def retire(self, kind: Kind, namespace: str, name: str) -> None:
        """Let no definition be in effect any more; all are kept."""
        self._db.run(_SETTLE, self.org, process_id(self.org, kind, namespace, name), False)

    def activate(self, process: bytes, version: str) -> Definition:
        """Let a version that is known be in effect again; raises UnknownName."""
        known = next((one for one in self.of(process) if one.version == version), None)
        if known is None:
            raise UnknownName(f"no version {version!r} of the process in the store")
        return self._activated(known)

    def _activated(self, known: Definition) -> Definition:
        if not known.active:
            self._db.run(_SETTLE, self.org, known.process, False)
            self._db.run(_ACTIVATE, self.org, known.process, True, known.hash)
        return known._replace(active=True)


def _definition(row: tuple[Any, ...]) -> Definition:
    process, hash_, *middle, active = row
    return Definition._make((bytes(process), bytes(hash_), *middle, bool(active)))

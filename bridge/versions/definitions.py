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
_VERSIONS = f"""
SELECT {_COLUMNS} FROM process_definition
WHERE org_id = ?1 AND process_id = ?2 AND number < ?3 ORDER BY number DESC LIMIT ?4
"""
_ACTIVE = f"""
SELECT {_COLUMNS} FROM process_definition
WHERE org_id = ?1 AND kind = ?2 AND is_active AND (namespace > ?3 OR namespace = ?3 AND name > ?4)
ORDER BY namespace, name LIMIT ?5
"""
_ADD = f"""
INSERT INTO process_definition (org_id, {_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
"""
_SET_ACTIVE = "UPDATE process_definition SET is_active = ?3 WHERE org_id = ?1 AND process_id = ?2 AND is_active <> ?3"
_ACTIVATE = f"{_SET_ACTIVE} AND content_hash = ?4"
MAX_NUMBER = (1 << 63) - 1


class RegisteredDefinition(NamedTuple):
    """A registered definition of a process or DAG."""

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
    """Return the id of a process (the id of its job) or of a DAG, which may have the same name as a process."""
    return job_id(org, namespace, name) if kind == "process" else name_based_id("dag", org, namespace, name)


class DefinitionStore:
    """The definitions of an organisation."""

    def __init__(self, db: Database, org: str, clock: Callable[[], int]) -> None:
        self._db = db
        self.org = org
        self._clock = clock

    def list_versions(
        self, process: bytes, limit: int = MAX_NUMBER, before: int = MAX_NUMBER
    ) -> list[RegisteredDefinition]:
        """List the definitions of a process, newest first."""
        return [_definition_from_row(row) for row in self._db.fetch_all(_VERSIONS, self.org, process, before, limit)]

    def get_active(self, process: bytes) -> RegisteredDefinition | None:
        return next((definition for definition in self.list_versions(process) if definition.is_active), None)

    def list_active(
        self, kind: DefinitionKind = "process", limit: int = MAX_NUMBER, after: tuple[str, str] = ("", "")
    ) -> list[RegisteredDefinition]:
        """List active definitions, sorted by namespace and name, starting after a given namespace and name."""
        return [_definition_from_row(row) for row in self._db.fetch_all(_ACTIVE, self.org, kind, *after, limit)]

    def register(
        self,
        kind: DefinitionKind,
        namespace: str,
        name: str,
        definition: Any,
        actor: str,
        *,
        version: str | None = None,
    ) -> RegisteredDefinition:
        """Register and activate a definition. A definition with known content keeps its number and version."""
        process = process_id(self.org, kind, namespace, name)
        content = msgspec.json.encode(definition, order="sorted")
        content_hash = digest(content)
        existing_definitions = self.list_versions(process)
        registered = next(
            (existing for existing in existing_definitions if existing.content_hash == content_hash), None
        )
        if registered is None:
            number = existing_definitions[0].number + 1 if existing_definitions else 1
            version_name = version or str(number)
            if any(existing.version == version_name for existing in existing_definitions):
                raise StateConflict(
                    f"version {version_name!r} of {namespace} {name} already exists with different content"
                )
            registered = RegisteredDefinition(
                process,
                content_hash,
                kind,
                namespace,
                name,
                number,
                version_name,
                content.decode(),
                actor,
                self._clock(),
                False,
            )
            self._db.execute(_ADD, self.org, *registered)
        return self._activate(registered)

    def content_hash(self, definition: Any) -> bytes:
        """Hash the content that identifies a definition."""
        return digest(msgspec.json.encode(definition, order="sorted"))

    def deactivate(self, kind: DefinitionKind, namespace: str, name: str) -> None:
        """Deactivate the definition of a process. All its versions are retained."""
        self._db.execute(_SET_ACTIVE, self.org, process_id(self.org, kind, namespace, name), False)

    def activate(self, process: bytes, version: str) -> RegisteredDefinition:
        """Activate a registered version. Raises NotFound if the version is unknown."""
        registered = next(
            (definition for definition in self.list_versions(process) if definition.version == version), None
        )
        if registered is None:
            raise NotFound(f"no version {version!r} of the process in the store")
        return self._activate(registered)

    def _activate(self, registered: RegisteredDefinition) -> RegisteredDefinition:
        if not registered.is_active:
            self._db.execute(_SET_ACTIVE, self.org, registered.process, False)
            self._db.execute(_ACTIVATE, self.org, registered.process, True, registered.content_hash)
        return registered._replace(is_active=True)


def _definition_from_row(row: tuple[Any, ...]) -> RegisteredDefinition:
    process, hash_, *other_columns, active = row
    return RegisteredDefinition._make((bytes(process), bytes(hash_), *other_columns, bool(active)))

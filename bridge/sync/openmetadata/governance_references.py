"""Looks up the entities that governance refers to (owners, tags, terms, domains); creates them if allowed."""

from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from connectors.errors import TargetRejected
from connectors.openmetadata.client import OpenMetadataClient
from mappers.canonical_json import JsonObject
from mappers.errors import PermanentError
from mappers.governance.merge import FieldValue
from mappers.openmetadata.fqn import fqn, is_valid_fqn, split_fqn

R = TypeVar("R")

#: Built-in classifications; no tags are created in them.
_BUILT_IN = frozenset({"Tier", "Certification", "PII", "PersonalData"})
_DESCRIPTION = "Created by lineage-bridge for asset files."
#: Status of references that do not exist and may not be created.
_NOT_FOUND = 404


class OwnerReference(NamedTuple):
    """A user or team; governance fields contain its qualified name, for example `team:finance`."""

    qualified_name: str
    id: str
    type: str


class GovernanceReferences:
    """Users, teams, tags, terms, domains, data products and custom properties of a server. Thread-safe."""

    def __init__(
        self, client: OpenMetadataClient, access_classification: str, *, may_create: bool, dry_run: bool = False
    ) -> None:
        self._client = client
        self._access_classification = access_classification
        self._may_create = may_create
        #: Send no changes; missing entities that could be created count as existing.
        self._dry_run = dry_run
        self._lock = Lock()
        self._cache: dict[tuple[str, ...], Any] = {}
        self._emails: dict[str, OwnerReference] | None = None

    def clear_cache(self) -> None:
        with self._lock:
            self._cache.clear()
            self._emails = None

    def owner(self, name: str) -> OwnerReference:
        """Find a user or team by email address or name; creates a missing team if allowed."""
        return self._cached(("owner", name), lambda: self._find_owner(name))

    def tag(self, name: str, entity: str) -> str:
        """Ensure that a tag with this fully qualified name exists.

        A new access tag is displayed with the name of the entity, because its own name is a hash.
        """
        classification, *_ = split_fqn(name) or [""]
        labels = {"displayName": f"Access to {entity}"} if classification == self._access_classification else {}
        return self._cached(
            ("tag", name), lambda: self._ensure(name, "tags", "classification", "classifications", labels)
        )

    def term(self, name: str) -> str:
        """Ensure that a glossary term with this fully qualified name exists."""
        return self._cached(("term", name), lambda: self._ensure(name, "glossaryTerms", "glossary", "glossaries"))

    def domain(self, name: str) -> str:
        """Return the id of a domain; creates a missing domain if allowed."""
        body = {"name": name, "description": _DESCRIPTION, "domainType": "Aggregate"}
        return self._cached(("domain", name), lambda: self._find_or_create("domains", name, body))

    def product(self, name: str, domain: str | None) -> str:
        """Return the id of a data product; creates a missing data product in this domain if allowed."""
        if domain is None:
            return self._cached(("product", name), lambda: self._find_or_create("dataProducts", name, None))
        body = {"name": name, "description": _DESCRIPTION, "domains": [domain]}
        return self._cached(("product", name), lambda: self._find_or_create("dataProducts", name, body))

    def custom_property(self, type_: str, name: str, value: FieldValue) -> None:
        """Ensure that entities of a type have this custom property; a new property gets the type of the value."""
        self._cached(("custom", type_, name), lambda: self._ensure_custom_property(type_, name, value))

    def _cached(self, key: tuple[str, ...], find: Callable[[], R]) -> R:
        with self._lock:
            if key not in self._cache:
                self._cache[key] = find()
            cached: R = self._cache[key]
            return cached

    def _find_owner(self, name: str) -> OwnerReference:
        if "@" in name:
            local_part, _, _ = name.partition("@")
            user = self._client.get("users", local_part)
            if user and str(user.get("email", "")).lower() == name.lower():
                return _owner_reference(user, "user")
            owner = self._owners_by_email().get(name.lower())
            if owner is None and (team := self._client.get("teams", local_part)):
                return _owner_reference(team, "team")
            if owner is None:
                raise TargetRejected(f"no user or team has the email address {name}", _NOT_FOUND)
            return owner
        for collection, type_ in (("teams", "team"), ("users", "user")):
            if entity := self._client.get(collection, name):
                return _owner_reference(entity, type_)
        if not self._may_create:
            raise TargetRejected(f"there is no team or user {name}, and no team may be created", _NOT_FOUND)
        return _owner_reference(self._put("teams", {"name": name, "teamType": "Group"}), "team")

    def _owners_by_email(self) -> dict[str, OwnerReference]:
        """Return users and teams with an email address, read once."""
        if self._emails is None:
            self._emails = {
                str(entity["email"]).lower(): _owner_reference(entity, type_)
                for collection, type_ in (("teams", "team"), ("users", "user"))
                for page in self._client.pages(collection)
                for entity in page
                if entity.get("email")
            }
        return self._emails

    def _ensure(
        self,
        name: str,
        collection: str,
        parent_key: str,
        parent_collection: str,
        labels: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """Ensure that a tag or term exists, including its classification or glossary and its parents."""
        if self._client.get(collection, name) is not None:
            return name
        root, *path = split_fqn(name) or [""]
        if not is_valid_fqn(name):
            raise TargetRejected(f"invalid name for a {collection[:-1]}: {name}", _NOT_FOUND)
        if not path or root in _BUILT_IN:
            raise TargetRejected(f"OpenMetadata has no {collection[:-1]} {name}", _NOT_FOUND)
        self._find_or_create(parent_collection, root, {"name": root, "description": _DESCRIPTION})
        parent = {} if len(path) == 1 else {"parent": fqn(root, *path[:-1])}
        body = {"name": path[-1], "description": _DESCRIPTION, parent_key: root} | parent | dict(labels)
        if parent:
            self._ensure(parent["parent"], collection, parent_key, parent_collection)
        self._find_or_create(collection, name, body)
        return name

    def _find_or_create(self, collection: str, name: str, body: JsonObject | None) -> str:
        entity = self._client.get(collection, name)
        if entity is None:
            if body is None:
                raise TargetRejected(
                    f"OpenMetadata has no {collection[:-1]} {name}, and its domain is not given",
                    _NOT_FOUND,
                )
            if not self._may_create:
                raise TargetRejected(
                    f"OpenMetadata has no {collection[:-1]} {name}, "
                    "and openmetadata.create does not allow creating it",
                    _NOT_FOUND,
                )
            entity = self._put(collection, body)
        return str(entity["id"])

    def _put(self, collection: str, body: JsonObject) -> JsonObject:
        return {**body, "id": ""} if self._dry_run else self._client.put(collection, body).entity

    def _ensure_custom_property(self, type_: str, name: str, value: FieldValue) -> None:
        entity_type = self._client.get("metadata/types", type_, "customProperties")
        if entity_type is None:
            raise TargetRejected(f"entities of the type {type_} have no custom properties", _NOT_FOUND)
        if any(prop["name"] == name for prop in entity_type.get("customProperties") or ()):
            return
        if not self._may_create:
            raise TargetRejected(
                f"OpenMetadata has no custom property {name} for type {type_}, "
                "and openmetadata.create does not allow creating it",
                _NOT_FOUND,
            )
        value_type = self._client.get("metadata/types", _value_type(value))
        if value_type is None:
            raise TargetRejected(f"OpenMetadata has no custom properties of type {_value_type(value)}", _NOT_FOUND)
        if not self._dry_run:
            self._client.add_custom_property(
                str(entity_type["id"]),
                {"name": name, "description": _DESCRIPTION, "propertyType": _type_reference(value_type)},
            )


def _value_type(value: FieldValue) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "string"
    return "integer" if isinstance(value, int) else "number"


def _type_reference(kind: JsonObject) -> JsonObject:
    return {"id": str(kind["id"]), "type": "type"}


def _owner_reference(entity: JsonObject, type_: str) -> OwnerReference:
    return OwnerReference(f"{type_}:{entity['name']}", str(entity["id"]), type_)


def find_all(names: Iterable[str], find: Callable[[str], R]) -> tuple[dict[str, R], list[str]]:
    """Look up names; returns the references, and the reason for each missing one."""
    references: dict[str, R] = {}
    problems = []
    for name in names:
        try:
            references[name] = find(name)
        except PermanentError as error:
            problems.append(str(error))
    return references, problems

"""Looks up what governance refers to (owners, tags, terms, domains); creates it if allowed."""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from connectors.errors import TargetRejected
from connectors.openmetadata.client import OpenMetadataClient
from mappers.canonical_json import JsonObject
from mappers.errors import PermanentError
from mappers.governance.merge import FieldValue
from mappers.openmetadata.fqn import fqn, is_valid_fqn, split_fqn

R = TypeVar("R")

#: What is made by us only where its classification is not the server's own.
_STOCK = frozenset({"Tier", "Certification", "PII", "PersonalData"})
_MADE = "Made by lineage-bridge, for what stewards write in asset files."
#: What is said of what is not there, and may not be made.
_NOT_THERE = 404


class OwnerReference(NamedTuple):
    """A user or team: how fields name it, and its reference."""

    named: str
    id: str
    type: str


class GovernanceReferences:
    """Users, teams, tags, terms, domains, data products and custom properties of a server. Safe for threads."""

    def __init__(self, client: OpenMetadataClient, *, may_create: bool, dry: bool = False) -> None:
        self._client = client
        self._may_create = may_create
        #: Whether nothing is made: what would be is taken for what is there.
        self._dry = dry
        self._lock = Lock()
        self._known: dict[tuple[str, ...], Any] = {}
        self._emails: dict[str, OwnerReference] | None = None

    def clear_cache(self) -> None:
        """Look for everything anew."""
        with self._lock:
            self._known.clear()
            self._emails = None

    def owner(self, name: str) -> OwnerReference:
        """Find a user by address or name, or a team by name; a team may be made."""
        return self._once(("owner", name), lambda: self._owner(name))

    def tag(self, name: str) -> str:
        """Let there be a tag of this fully qualified name."""
        return self._once(("tag", name), lambda: self._within(name, "tags", "classification", "classifications"))

    def term(self, name: str) -> str:
        """Let there be a glossary term of this fully qualified name."""
        return self._once(("term", name), lambda: self._within(name, "glossaryTerms", "glossary", "glossaries"))

    def domain(self, name: str) -> str:
        """Give the id of a domain."""
        body = {"name": name, "description": _MADE, "domainType": "Aggregate"}
        return self._once(("domain", name), lambda: self._find_or_create("domains", name, body))

    def product(self, name: str, domain: str | None) -> str:
        """Give the id of a data product; one that is made lies in this domain."""
        if domain is None:
            return self._once(("product", name), lambda: self._find_or_create("dataProducts", name, None))
        body = {"name": name, "description": _MADE, "domains": [domain]}
        return self._once(("product", name), lambda: self._find_or_create("dataProducts", name, body))

    def custom_property(self, type_: str, name: str, value: FieldValue) -> None:
        """Let entities of a type have a custom property for such values."""
        self._once(("custom", type_, name), lambda: self._custom(type_, name, value))

    def _once(self, key: tuple[str, ...], find: Callable[[], R]) -> R:
        with self._lock:
            if key not in self._known:
                self._known[key] = find()
            found: R = self._known[key]
            return found

    def _owner(self, name: str) -> OwnerReference:
        if "@" in name:
            local = name.partition("@")[0]
            user = self._client.get("users", local)
            if user and str(user.get("email", "")).lower() == name.lower():
                return _owner(user, "user")
            found = self._by_address().get(name.lower())
            if found is None and (team := self._client.get("teams", local)):
                return _owner(team, "team")
            if found is None:
                raise TargetRejected(f"no user or team has the address {name}", _NOT_THERE)
            return found
        for collection, type_ in (("teams", "team"), ("users", "user")):
            if entity := self._client.get(collection, name):
                return _owner(entity, type_)
        if not self._may_create:
            raise TargetRejected(
                f"no team or user is called {name}, and openmetadata.create does not allow to make a team", _NOT_THERE
            )
        return _owner(self._put("teams", {"name": name, "teamType": "Group"}), "team")

    def _by_address(self) -> dict[str, OwnerReference]:
        """List the users and teams that have an address, once."""
        if self._emails is None:
            self._emails = {
                str(entity["email"]).lower(): _owner(entity, type_)
                for collection, type_ in (("teams", "team"), ("users", "user"))
                for page in self._client.pages(collection)
                for entity in page
                if entity.get("email")
            }
        return self._emails

    def _within(self, name: str, collection: str, holder: str, holders: str) -> str:
        """Let there be a tag of a classification or a term of a glossary, with those that it lies in."""
        if self._client.get(collection, name) is not None:
            return name
        above, *within = split_fqn(name) or [""]
        if not is_valid_fqn(name):
            raise TargetRejected(f"the server takes no {collection[:-1]} of the name {name}", _NOT_THERE)
        if not within or above in _STOCK:
            raise TargetRejected(f"the server has no {collection[:-1]} {name}", _NOT_THERE)
        self._find_or_create(holders, above, {"name": above, "description": _MADE})
        parent = {} if len(within) == 1 else {"parent": fqn(above, *within[:-1])}
        body = {"name": within[-1], "description": _MADE, holder: above} | parent
        if parent:
            self._within(parent["parent"], collection, holder, holders)
        self._find_or_create(collection, name, body)
        return name

    def _find_or_create(self, collection: str, name: str, body: JsonObject | None) -> str:
        there = self._client.get(collection, name)
        if there is None:
            if body is None:
                raise TargetRejected(
                    f"the server has no {collection[:-1]} {name}, and it is not said in which domain it lies",
                    _NOT_THERE,
                )
            if not self._may_create:
                raise TargetRejected(
                    f"the server has no {collection[:-1]} {name}, and openmetadata.create does not allow it",
                    _NOT_THERE,
                )
            there = self._put(collection, body)
        return str(there["id"])

    def _put(self, collection: str, body: JsonObject) -> JsonObject:
        return {**body, "id": ""} if self._dry else self._client.put(collection, body).entity

    def _custom(self, type_: str, name: str, value: FieldValue) -> None:
        of = self._client.get("metadata/types", type_, "customProperties")
        if of is None:
            raise TargetRejected(f"entities of the type {type_} have no custom properties", _NOT_THERE)
        if any(one["name"] == name for one in of.get("customProperties") or ()):
            return
        if not self._may_create:
            raise TargetRejected(
                f"the server has no custom property {name} of a {type_}, and openmetadata.create forbids it",
                _NOT_THERE,
            )
        kind = self._client.get("metadata/types", _kind(value))
        if kind is None:
            raise TargetRejected(f"the server has no custom properties of the type {_kind(value)}", _NOT_THERE)
        if not self._dry:
            self._client.add_custom_property(
                str(of["id"]), {"name": name, "description": _MADE, "propertyType": _typed(kind)}
            )


def _kind(value: FieldValue) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "string"
    return "integer" if isinstance(value, int) else "number"


def _typed(kind: JsonObject) -> JsonObject:
    return {"id": str(kind["id"]), "type": "type"}


def _owner(entity: JsonObject, type_: str) -> OwnerReference:
    return OwnerReference(f"{type_}:{entity['name']}", str(entity["id"]), type_)


def known(names: Iterable[str], find: Callable[[str], R]) -> tuple[dict[str, R], list[str]]:
    """Look names up; gives what was found, and why the others were not."""
    found: dict[str, R] = {}
    problems = []
    for name in names:
        try:
            found[name] = find(name)
        except PermanentError as error:
            problems.append(str(error))
    return found, problems

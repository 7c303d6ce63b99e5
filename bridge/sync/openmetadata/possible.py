"""What of a change can be made: all that it refers to is on the server, or is made there first."""

from collections.abc import Callable, Iterable, Mapping

from bridge.sync.openmetadata.labels import Labels, known
from connectors.openmetadata.calls import Entity
from mappers.governance.agreement import Undone
from mappers.governance.merge import Fields, Path, Value, elements
from mappers.openmetadata import governance as of
from mappers.openmetadata.governance_patch import References


class Possible:
    """Leaves out of a change what cannot be, and says why."""

    def __init__(self, labels: Labels, type_: str, entity: Entity, domain: Value) -> None:
        self._labels = labels
        self._type = type_
        self._there = of.found(entity)
        self._domain = domain if isinstance(domain, str) else None
        self._owners = {
            f"{one['type']}:{one['name']}": (str(one["id"]), str(one["type"])) for one in _all(entity, "owners")
        }
        self._domains: dict[str, str] = {}
        self._products = {str(one["fullyQualifiedName"]): str(one["id"]) for one in _all(entity, "dataProducts")}
        self.problems: list[str] = []
        self._left_out: set[Path] = set()
        self._missing: dict[Path, frozenset[str]] = {}

    @property
    def references(self) -> References:
        """Give the ids of what the change refers to."""
        return References(self._owners, self._domains, self._products)

    @property
    def undone(self) -> Undone:
        """Say what was left out."""
        return Undone(frozenset(self._left_out), self._missing)

    def of(self, changes: Fields, owners: Mapping[str, tuple[str, str]]) -> dict[Path, Value]:
        """Give what can be changed."""
        self._owners = {**self._owners, **owners}
        first = sorted(changes, key=lambda path: (path != of.DOMAIN, path))  # a data product is made in its domain
        return {path: value for path in first for value in self._one(path, changes[path])}

    def _one(self, path: Path, value: Value) -> Iterable[Value]:
        """Give the value that a field can have; none when it cannot be changed."""
        if value is None:
            return [None]
        if (find := self._of_set(path)) is not None:
            return [self._made(path, value, find)]
        single = self._of_one(path, value)
        if single is None or self._known([str(value)], single):
            return [value]
        self._left_out.add(path)
        return []

    def _of_set(self, path: Path) -> Callable[[str], object] | None:
        """Say how it is looked for what the elements of a field are, if it holds several."""
        if path[0] == of.COLUMNS and path[-1] == "tags":
            return self._labels.tag
        sets: dict[Path, Callable[[str], object]] = {
            of.TAGS: self._labels.tag,
            of.TERMS: self._labels.term,
            of.PRODUCTS: self._product,
        }
        return sets.get(path)

    def _of_one(self, path: Path, value: Value) -> Callable[[str], object] | None:
        """Say how it is looked for what a field that holds one value refers to, if it refers to anything."""
        if path[0] == of.CUSTOM:
            return lambda _: self._labels.custom(self._type, path[1], value)
        if path in (of.TIER, of.CERTIFICATION):
            return self._labels.tag
        return self._a_domain if path == of.DOMAIN else None

    def _made(self, path: Path, value: Value, find: Callable[[str], object]) -> Value:
        """Give the elements of a set that are on the server by now; those that were there already are."""
        before, new = elements(self._there.get(path)), elements(value) - elements(self._there.get(path))
        known_ones = frozenset(self._known(sorted(new), find))
        if new - known_ones:
            self._missing[path] = new - known_ones
        return (elements(value) & before) | known_ones

    def _known(self, names: Iterable[str], find: Callable[[str], object]) -> list[str]:
        found, problems = known(names, find)
        self.problems += problems
        return list(found)

    def _a_domain(self, name: str) -> str:
        self._domains[name] = self._labels.domain(name)
        return name

    def _product(self, name: str) -> str:
        self._products[name] = self._labels.product(name, self._domain)
        return name


def _all(entity: Entity, key: str) -> Iterable[Entity]:
    return entity.get(key) or ()

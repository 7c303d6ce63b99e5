"""What an entity lacks of what a request says of it: where that is nothing, the request would change nothing."""

from collections.abc import Mapping
from typing import Any

from mappers.openmetadata.carried import carried

Body = dict[str, Any]

#: Where an entity lies is in its fully qualified name, and told by references in an answer.
_PLACE = frozenset({"name", "service", "database", "databaseSchema", "apiCollection", "parent"})
#: What people may say otherwise, and then it stays: it is lacking only where nothing is said.
_THEIRS = frozenset({"description", "displayName"})


def difference(collection: str, said: Body, entity: Body) -> list[str]:
    """Name the keys of a request that an entity does not say the same of."""
    body = carried(collection, said, entity)
    lacking = [
        key
        for key, value in body.items()
        if key not in _PLACE and not (entity.get(key) if key in _THEIRS else _holds(entity.get(key), value))
    ]
    return sorted(lacking)


def _holds(there: Any, value: Any) -> bool:
    """Tell whether all that a request says is there; what is named is compared by its name, in any order."""
    if isinstance(value, Mapping):
        return isinstance(there, Mapping) and all(
            bool(there.get(key)) if key in _THEIRS else _holds(there.get(key), one) for key, one in value.items()
        )
    if not isinstance(value, list) or not all(isinstance(one, Mapping) and "name" in one for one in value):
        return bool(there == value)
    named = {one["name"]: one for one in there or ()}
    return named.keys() == {one["name"] for one in value} and all(_holds(named[one["name"]], one) for one in value)

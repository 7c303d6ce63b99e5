"""What belongs to datasets and jobs in the search index beside their own rows: columns, tags, owners, categories."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database
from bridge.store.said import GOVERNANCE
from mappers.canonical.identity import NOBODY

_COLUMNS = "SELECT class_id, columns_json FROM class_schema WHERE org_id = ?1 AND class_id {among}"
_FACETS = """
SELECT owner_id, name, body FROM facet
WHERE org_id = ?1 AND owner_id {among} AND about_id = ?2 AND body IS NOT NULL
  AND name IN ('tags', 'ownership', 'lineageBridge_governance')
"""
_REQUESTS = """
SELECT dataset_id, request_order, request_json FROM dataset_registration
WHERE org_id = ?1 AND dataset_id {among} AND status <> 'REJECTED' AND request_json IS NOT NULL
"""


class Around(NamedTuple):
    """What belongs to members, by their ids; columns by that of their class."""

    columns: dict[bytes, list[dict[str, Any]]]
    tags: dict[bytes, list[tuple[str, str]]]
    owners: dict[bytes, list[str]]
    categories: dict[bytes, tuple[bytes, str]]
    #: What stewards say, which goes before what anybody else says.
    governance: dict[bytes, dict[str, Any]]


def read_around(db: Database, org: str, classes: list[bytes], ids: list[bytes]) -> Around:
    """Read what belongs to classes of datasets, and to members and jobs by their ids."""
    around = Around({}, {}, {}, {}, {})
    for class_id, columns in db.among(_COLUMNS, classes, org):
        around.columns[class_id] = msgspec.json.decode(columns)
    for owner, name, body in db.among(_FACETS, ids, org, NOBODY):
        said = msgspec.json.decode(body)
        if name == "tags":
            around.tags.setdefault(owner, []).extend(_tags(said))
        elif name == GOVERNANCE:
            around.governance[owner] = said
            around.tags.setdefault(owner, []).extend((word, "") for word in governed_words(said))
            around.owners.setdefault(owner, []).extend(_words(said, "owners"))
        else:
            around.owners.setdefault(owner, []).extend(
                [text for one in _objects(said, "owners") if (text := _text(one, "name"))]
            )
    for dataset, order, request in db.among(_REQUESTS, ids, org):
        if category := _text(msgspec.json.decode(request), "category"):
            around.categories[dataset] = max(around.categories.get(dataset, (b"", "")), (order, category))
    return around


def _objects(body: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """Give the objects of a list in a facet, which is kept as it was sent, whatever its shape."""
    listed = body.get(key)
    return (one for one in listed if isinstance(one, dict)) if isinstance(listed, list) else iter(())


def governed_words(said: dict[str, Any]) -> list[str]:
    """Give the words by which a steward lets a dataset be found: tags, classifications, terms, domain, products."""
    several = [
        word for key in ("tags", "classifications", "glossaryTerms", "dataProducts") for word in _words(said, key)
    ]
    return several + [word for key in ("domain", "tier", "certification") if (word := _text(said, key))]


def _words(body: dict[str, Any], key: str) -> list[str]:
    listed = body.get(key)
    return [word for word in listed if isinstance(word, str)] if isinstance(listed, list) else []


def _text(body: dict[str, Any], key: str) -> str:
    found = body.get(key)
    return found.strip() if isinstance(found, str) else ""


def _tags(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Give the tags of a dataset or job and of its columns, each with its value, if that says more than yes."""
    for tag in _objects(body, "tags"):
        if key := _text(tag, "key"):
            said = _text(tag, "value")
            yield key, "" if said.lower() == "true" else said

"""JSON Patch on entities."""

import copy
import json
from typing import Any

from tests.standins.openmetadata import columns as column_rules
from tests.standins.openmetadata.access import Principal, check_patch
from tests.standins.openmetadata.certification import CERTIFICATION, certified
from tests.standins.openmetadata.changes import Change
from tests.standins.openmetadata.comparison import compare
from tests.standins.openmetadata.create_shapes import LABEL
from tests.standins.openmetadata.errors import ApiError, Unreadable, unhandled, unreadable, violated
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.labels import applied
from tests.standins.openmetadata.names import joined
from tests.standins.openmetadata.patched_fields import check_field
from tests.standins.openmetadata.policies import arrange
from tests.standins.openmetadata.references import check_domains, check_owners, check_products
from tests.standins.openmetadata.shapes import Reader, listing, text
from tests.standins.openmetadata.state import Data, Entity, Store
from tests.standins.openmetadata.text import stored
from tests.standins.openmetadata.versions import Outcome, settle_patch
from tests.standins.openmetadata.views import DELETED, View, render, without_labels

_DOCUMENT = View(shows=DELETED.shows, if_set=DELETED.if_set, href=False, reference_href=False)


def operations_in(raw: Any) -> list[Data]:
    """Read the operations of a patch."""
    if not isinstance(raw, list) or not all(isinstance(operation, dict) for operation in raw):
        raise unreadable()
    for operation in raw:
        for pointer in (operation.get("path"), operation.get("from", "/")):
            if not isinstance(pointer, str) or not pointer.startswith("/"):
                raise unhandled("Error processing JSON Patch")
    return raw


def patch(store: Store, entity: Entity, operations: list[Data], who: Principal, locked: bool) -> Outcome:
    """Apply a JSON Patch to an entity."""
    check_patch(who, [operation["path"] for operation in operations])
    document: Data = {name: [] for name in entity.kind.references}
    document |= copy.deepcopy(render("", entity, _DOCUMENT))
    before = copy.deepcopy(document)
    apply(document, operations)
    for name in document:
        if name not in before:
            check_field(entity.kind, name)
    new = _taken(store, entity, before, document, who)
    change = Change()
    compare(entity.kind, entity.data, new, change)
    outcome = settle_patch(store, entity, new, change, who, locked)
    if document.get("name") not in (entity.name, None) and "columns" in new:
        # The name stays, but the server files the labels of the columns under the new one: later reads miss them.
        entity.data = {**entity.data, "columns": without_labels(new["columns"])}
        columns = copy.deepcopy(new["columns"])
        column_rules.qualify(columns, joined(entity.parent.fqn if entity.parent else "", str(document["name"])))
        outcome.data = {**outcome.data, "columns": columns}
    return outcome


def apply(document: Data, operations: list[Data]) -> None:
    """Change a document in place by the operations of RFC 6902."""
    for operation in operations:
        parts = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        kind = operation.get("op")
        if kind in ("move", "copy"):
            source = [part.replace("~1", "/").replace("~0", "~") for part in operation["from"].split("/")[1:]]
            value = copy.deepcopy(_get(document, source))
            if kind == "move":
                _remove(document, source)
            _add(document, parts, value)
        elif kind == "test":
            _test(document, parts, operation)
        elif kind == "remove":
            _remove(document, parts)
        elif kind in ("add", "replace"):
            _add(document, parts, operation.get("value"), insert=kind == "add")
        else:
            raise unreadable()


def _test(document: Data, parts: list[str], operation: Data) -> None:
    if _get(document, parts) != operation.get("value"):
        value = json.dumps(operation.get("value"), ensure_ascii=False)
        raise ApiError(
            400, f"The JSON Patch operation 'test' failed for path '{operation['path']}' and value '{value}'"
        )


def _get(at: Any, parts: list[str]) -> Any:
    for part in parts:
        at = _step(at, part)
    return at


def _step(at: Any, part: str) -> Any:
    if isinstance(at, list):
        return at[_index(at, part, len(at) - 1)]
    if not isinstance(at, dict) or part not in at:
        shown = json.dumps(at, separators=(",", ":"), ensure_ascii=False)
        raise ApiError(400, f"The JSON Object '{shown}' contains no mapping for the name '{part}'")
    return at[part]


def _index(at: list[Any], part: str, last: int) -> int:
    if not part.isdecimal() or int(part) > last:
        raise unhandled("Error processing JSON Patch")
    return int(part)


def _add(document: Data, parts: list[str], value: Any, insert: bool = True) -> None:
    target = _get(document, parts[:-1])
    if not isinstance(target, (dict, list)):
        raise unhandled("Error processing JSON Patch")
    if isinstance(target, dict):
        target[parts[-1]] = value
    elif parts[-1] == "-":
        target.append(value)
    elif insert:
        target.insert(_index(target, parts[-1], len(target)), value)
    else:
        target[_index(target, parts[-1], len(target) - 1)] = value


def _remove(document: Data, parts: list[str]) -> None:
    target = _get(document, parts[:-1])
    _step(target, parts[-1])
    if isinstance(target, list):
        del target[int(parts[-1])]
    else:
        del target[parts[-1]]


def _taken(store: Store, entity: Entity, before: Data, document: Data, who: Principal) -> Data:
    """Take over what may be changed; the rest of the document is ignored."""
    kind = entity.kind
    new = dict(entity.data)
    for name in (*kind.own, "description", "displayName"):
        value = document.get(name)
        if value == before.get(name):
            continue
        new.pop(name, None)
        if value is not None:
            new[name] = _read(kind.shape.fields.get(name, text), value, name)
    if new.get("description") != entity.data.get("description"):
        new["description"] = stored(new.get("description", ""))
    if document.get("columns") != before.get("columns"):
        _take_columns(store, entity, new, who)
    if document.get("tags") != before.get("tags"):
        labels = _read(listing(LABEL), document.get("tags") or [], "tags")
        new["tags"] = applied(store.governance.labels(labels), who.name)
    if kind.name == "policy":
        arrange(new)
    _take_references(store, kind, new, before, document)
    if document.get("certification") != before.get("certification"):
        new["certification"] = certified(_read(CERTIFICATION, document.get("certification"), ""), store.now())
    return {name: value for name, value in new.items() if value is not None}


def _read(reader: Reader, value: Any, name: str) -> Any:
    faults: list[str] = []
    try:
        read = None if value is None else reader(value, faults, name)
    except Unreadable:
        raise unreadable() from None
    if faults:
        raise violated(*sorted(set(faults)))
    return read


def _take_columns(store: Store, entity: Entity, new: Data, who: Principal) -> None:
    new.setdefault("columns", [])
    column_rules.with_lists(new["columns"])
    column_rules.qualify(new["columns"], entity.fqn)
    for column in column_rules.every(new["columns"]):
        if column["tags"]:
            column["tags"] = applied(store.governance.labels(column["tags"]), who.name)


def _take_references(store: Store, kind: Kind, new: Data, before: Data, document: Data) -> None:
    known = store.governance
    if document.get("owners") != before.get("owners"):
        check_owners(document.get("owners") or [])
        new["owners"] = known.by_id(document.get("owners") or []) or None
    if document.get("domains") != before.get("domains"):
        check_domains(kind, document.get("domains") or [])
        new["domains"] = known.by_id(document.get("domains") or [], only="domain") or None
    if document.get("dataProducts") != before.get("dataProducts"):
        new["dataProducts"] = known.by_id(document.get("dataProducts") or [], only="dataProduct") or None
        check_products(new["dataProducts"] or [], new.get("domains") or [])
    for name in kind.references:
        if document.get(name) != before.get(name):
            kept = {one.id: one for one in new.get(name) or ()}
            new[name] = [kept.get(one.get("id")) or known.by_id([one])[0] for one in document.get(name) or ()]
    if document.get("extension") != before.get("extension"):
        new["extension"] = known.extension(kind.name, document.get("extension") or {}) or None

"""JSON Patch on entities."""

import copy
import json
from typing import Any

from tests.standins.openmetadata import columns as column_rules
from tests.standins.openmetadata.access import Principal, check_patch
from tests.standins.openmetadata.certification import CERTIFICATION, complete_certification
from tests.standins.openmetadata.changes import Change
from tests.standins.openmetadata.comparison import compare
from tests.standins.openmetadata.create_shapes import LABEL
from tests.standins.openmetadata.errors import (
    ApiError,
    Unreadable,
    invalid_format,
    unhandled_exception,
    validation_error,
)
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.labels import add_label_user
from tests.standins.openmetadata.names import join_fqn
from tests.standins.openmetadata.patched_fields import check_field
from tests.standins.openmetadata.policies import normalize_rules
from tests.standins.openmetadata.references import check_domains, check_owners, check_products
from tests.standins.openmetadata.shapes import Reader, list_of, text
from tests.standins.openmetadata.state import Data, Entity, Store
from tests.standins.openmetadata.text import sanitize
from tests.standins.openmetadata.versions import Outcome, store_patch
from tests.standins.openmetadata.views import DELETED, View, render, without_labels

_DOCUMENT = View(shows=DELETED.shows, if_set=DELETED.if_set, href=False, reference_href=False)


def operations_in(raw: Any) -> list[Data]:
    """Validate the operations of a patch."""
    if not isinstance(raw, list) or not all(isinstance(operation, dict) for operation in raw):
        raise invalid_format()
    for operation in raw:
        for pointer in (operation.get("path"), operation.get("from", "/")):
            if not isinstance(pointer, str) or not pointer.startswith("/"):
                raise unhandled_exception("Error processing JSON Patch")
    return raw


def patch(store: Store, entity: Entity, operations: list[Data], principal: Principal, locked: bool) -> Outcome:
    """Apply a JSON Patch to an entity."""
    check_patch(principal, [operation["path"] for operation in operations])
    document: Data = {name: [] for name in entity.kind.references}
    document |= copy.deepcopy(render("", entity, _DOCUMENT))
    before = copy.deepcopy(document)
    apply(document, operations)
    for name in document:
        if name not in before:
            check_field(entity.kind, name)
    new = _apply_changes(store, entity, before, document, principal)
    change = Change()
    compare(entity.kind, entity.data, new, change)
    outcome = store_patch(store, entity, new, change, principal, locked)
    if document.get("name") not in (entity.name, None) and "columns" in new:
        # The name is not changed, but the server stores column labels under the new name, so later reads miss them.
        entity.data = {**entity.data, "columns": without_labels(new["columns"])}
        columns = copy.deepcopy(new["columns"])
        column_rules.qualify(columns, join_fqn(entity.parent.fqn if entity.parent else "", str(document["name"])))
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
            raise invalid_format()


def _test(document: Data, parts: list[str], operation: Data) -> None:
    if _get(document, parts) != operation.get("value"):
        value = json.dumps(operation.get("value"), ensure_ascii=False)
        raise ApiError(
            400, f"The JSON Patch operation 'test' failed for path '{operation['path']}' and value '{value}'"
        )


def _get(node: Any, parts: list[str]) -> Any:
    for part in parts:
        node = _step(node, part)
    return node


def _step(node: Any, part: str) -> Any:
    if isinstance(node, list):
        return node[_index(node, part, len(node) - 1)]
    if not isinstance(node, dict) or part not in node:
        node_json = json.dumps(node, separators=(",", ":"), ensure_ascii=False)
        raise ApiError(400, f"The JSON Object '{node_json}' contains no mapping for the name '{part}'")
    return node[part]


def _index(items: list[Any], part: str, last: int) -> int:
    if not part.isdecimal() or int(part) > last:
        raise unhandled_exception("Error processing JSON Patch")
    return int(part)


def _add(document: Data, parts: list[str], value: Any, insert: bool = True) -> None:
    target = _get(document, parts[:-1])
    if not isinstance(target, (dict, list)):
        raise unhandled_exception("Error processing JSON Patch")
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


def _apply_changes(store: Store, entity: Entity, before: Data, document: Data, principal: Principal) -> Data:
    """Apply changes of mutable properties; other changes are ignored."""
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
        new["description"] = sanitize(new.get("description", ""))
    if document.get("columns") != before.get("columns"):
        _apply_columns(store, entity, new, principal)
    if document.get("tags") != before.get("tags"):
        labels = _read(list_of(LABEL), document.get("tags") or [], "tags")
        new["tags"] = add_label_user(store.governance.labels(labels), principal.name)
    if kind.name == "policy":
        normalize_rules(new)
    _apply_references(store, kind, new, before, document)
    if document.get("certification") != before.get("certification"):
        new["certification"] = complete_certification(
            _read(CERTIFICATION, document.get("certification"), ""), store.now()
        )
    return {name: value for name, value in new.items() if value is not None}


def _read(reader: Reader, value: Any, name: str) -> Any:
    faults: list[str] = []
    try:
        read = None if value is None else reader(value, faults, name)
    except Unreadable:
        raise invalid_format() from None
    if faults:
        raise validation_error(*sorted(set(faults)))
    return read


def _apply_columns(store: Store, entity: Entity, new: Data, principal: Principal) -> None:
    new.setdefault("columns", [])
    column_rules.fill_lists(new["columns"])
    column_rules.qualify(new["columns"], entity.fqn)
    for column in column_rules.walk(new["columns"]):
        if column["tags"]:
            column["tags"] = add_label_user(store.governance.labels(column["tags"]), principal.name)


def _apply_references(store: Store, kind: Kind, new: Data, before: Data, document: Data) -> None:
    governance = store.governance
    if document.get("owners") != before.get("owners"):
        check_owners(document.get("owners") or [])
        new["owners"] = governance.by_id(document.get("owners") or []) or None
    if document.get("domains") != before.get("domains"):
        check_domains(kind, document.get("domains") or [])
        new["domains"] = governance.by_id(document.get("domains") or [], only="domain") or None
    if document.get("dataProducts") != before.get("dataProducts"):
        new["dataProducts"] = governance.by_id(document.get("dataProducts") or [], only="dataProduct") or None
        check_products(new["dataProducts"] or [], new.get("domains") or [])
    for name in kind.references:
        if document.get(name) != before.get(name):
            current = {entity.id: entity for entity in new.get(name) or ()}
            new[name] = [
                current.get(reference.get("id")) or governance.by_id([reference])[0]
                for reference in document.get(name) or ()
            ]
    if document.get("extension") != before.get("extension"):
        new["extension"] = governance.extension(kind.name, document.get("extension") or {}) or None

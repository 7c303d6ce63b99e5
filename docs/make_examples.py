"""Writes bridge/api/query_examples.json, what each question is answered of a small estate: `make docs`."""

import json
from pathlib import Path
from typing import Any

import msgspec

from bridge.queries.dataset import DatasetQuery
from bridge.queries.lineage import MAX_PAGE_ITEMS
from bridge.queries.processes import JobQuery
from bridge.queries.query import Query
from bridge.store.search.indexer import SearchIndexer
from tests.queries.decisions import decide
from tests.queries.sample_store import EXAMPLE_QUERIES, SAMPLE_EVENTS
from tests.stores import Store, as_bytes

PAGE = Path(__file__).parents[1] / "bridge" / "api" / "query_examples.json"
#: How much of a list is shown.
_MOST = 2


def render() -> str:
    """Give the whole file."""
    with Store() as store:
        for event in SAMPLE_EVENTS:
            store.writer.write([store.reader.read(as_bytes(event), "http")])
        decide(store.db, store.org)
        SearchIndexer(store.db, store.org).index_all()
        found = {type(question).__name__: _example(store, question) for question in EXAMPLE_QUERIES}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _example(store: Store, question: Query[Any]) -> dict[str, Any]:
    fields = {field.name: field.default for field in msgspec.structs.fields(type(question))}
    if fields.get("limit", MAX_PAGE_ITEMS) != MAX_PAGE_ITEMS:  # lineage has few edges, and then shows columns too
        question = msgspec.structs.replace(question, limit=_MOST)  # type: ignore[type-var]
    given = {name: value for name, default in fields.items() if (value := getattr(question, name)) != default}
    about = {"dataset": DatasetQuery, "process": JobQuery}.get(question.subject or "")
    named = {"id": store.ask(about(namespace=given["namespace"], name=given["name"])).id} if about else {}
    answer = json.loads(msgspec.json.encode(store.ask(question)))
    return {"parameters": named | given, "answer": _short(answer)}


def _short(value: Any) -> Any:
    """Cut every list to its beginning."""
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    return [_short(one) for one in value[:_MOST]] if isinstance(value, list) else value


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")

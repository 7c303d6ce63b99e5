"""Search results: matches, order, filters, pages and hostile input, on both stores."""

from typing import Any

import pytest

from bridge.errors import InvalidParameter
from bridge.store.search.indexer import SearchIndexer
from bridge.store.search.search import SearchCriteria, SearchHit, SearchResult, search
from tests import factories as make
from tests.factories import Json, dataset, dataset_event, job_event, run_event
from tests.fuzz.hostile_names import HOSTILE
from tests.stores import Store

PII = make.facet(tags=[{"key": "PII", "value": "true"}, {"key": "tier", "value": "Gold", "field": "k"}, {"key": 3}])
TEAM = make.facet(owners=[{"name": "etl", "type": "team"}, {"name": "Ann"}, {"name": "b@example.com"}])
DESCRIBED = dataset(
    "analytics.dailySales2024", schema=make.schema("customer_id", email="where mails go"), ownership=TEAM, tags=PII,
    documentation=make.facet(description="Takings of all shops\nby day"), storage=make.facet(fileFormat="Parquet"),
    lineageBridge_registration=make.registration(category="Finance"),
)  # fmt: skip
EVENTS = (
    dataset_event(0, DESCRIBED),
    dataset_event(1, dataset("sales")),
    dataset_event(1, dataset("/lake/raw/sales", "s3://lake")),
    dataset_event(2, dataset("b.sales_old")),
    dataset_event(2, dataset("a.sales_old", "a")),
    dataset_event(3, dataset("zz", documentation=make.facet(description="holds sales"))),
    job_event(4, job="load sales", documentation=make.facet(description="nightly"), ownership=TEAM),
)


def indexed(store: Store, *events: Json) -> Store:
    store.apply_each(*events)
    SearchIndexer(store.db, store.org).index_all()
    return store


def run_search(store: Store, q: str = "", limit: int = 20, after: str | None = None, **filters: str) -> SearchResult:
    return search(store.db, store.org, SearchCriteria(q, **filters), limit, after)


def names(store: Store, q: str = "", **filters: str) -> list[str]:
    return [hit.name for hit in run_search(store, q, **filters).items]


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("sales", ["sales", "/lake/raw/sales", "load sales", "a.sales_old", "b.sales_old", "analytics.dailySales2024", "zz"]),
        ("SALES", ["sales", "/lake/raw/sales", "load sales", "a.sales_old", "b.sales_old", "analytics.dailySales2024", "zz"]),
        ("daily", ["analytics.dailySales2024"]),
        ("dailysales2024", ["analytics.dailySales2024"]),
        ("dailySales", ["analytics.dailySales2024"]),
        ("takings shops", ["analytics.dailySales2024"]),
        ("takings shop", ["analytics.dailySales2024"]),
        ("taking shops", []),
        ("customer_id", ["analytics.dailySales2024"]),
        ("mails", ["analytics.dailySales2024"]),
        ("s3://lake/lake/raw/sales", ["/lake/raw/sales"]),
        ("s3://lake raw", ["/lake/raw/sales"]),
        ("nightly", ["load sales"]),
        ("nothing of the kind", []),
        ("***", []),
    ],
)  # fmt: skip
def test_all_words_match_the_last_as_prefix_and_names_come_first(store: Store, q: str, expected: list[str]) -> None:
    assert names(indexed(store, *EVENTS), q) == expected


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"type": "job"}, ["load sales"]),
        ({"type": "dataset", "q": "load"}, []),
        ({"owner": "ETL"}, ["load sales", "analytics.dailySales2024"]),
        ({"owner": "ann", "type": "dataset"}, ["analytics.dailySales2024"]),
        ({"owner": "b@example.com", "q": "load"}, ["load sales"]),
        ({"owner": "et"}, []),
        ({"tag": "pii"}, ["analytics.dailySales2024"]),
        ({"tag": "tier:gold"}, ["analytics.dailySales2024"]),
        ({"tag": "Tier"}, ["analytics.dailySales2024"]),
        ({"tag": "gold"}, []),
        ({"category": "finance"}, ["analytics.dailySales2024"]),
        ({"format": "PARQUET"}, ["analytics.dailySales2024"]),
        ({"namespace": "s3://lake"}, ["/lake/raw/sales"]),
        ({"namespace": "s3a://lake"}, ["/lake/raw/sales"]),
        ({"namespace": "s3:*"}, ["/lake/raw/sales"]),
        ({"namespace": "s3a:*"}, ["/lake/raw/sales"]),
        ({"namespace": "s3:"}, []),
        ({"namespace": "DB"}, []),
        ({"namespace": "*", "q": "sales_old"}, ["a.sales_old", "b.sales_old"]),
        ({"namespace": "db", "q": "sales_old"}, ["b.sales_old"]),
    ],
)  # fmt: skip
def test_filters_match_exactly(store: Store, filters: dict[str, str], expected: list[str]) -> None:
    assert names(indexed(store, *EVENTS), **filters) == expected


def test_hit_contains_known_attributes(store: Store) -> None:
    (hit,) = run_search(indexed(store, *EVENTS), "takings").items
    assert hit == SearchHit(
        "dataset", hit.id, "db", "analytics.dailySales2024", "Takings of all shops\nby day",
        ["Ann", "b@example.com", "etl"], ["PII", "tier:Gold"], "Parquet", "Finance", True,
    )  # fmt: skip


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("parameters", [{"q": "sales"}, {"namespace": "*"}, {"q": "s", "type": "dataset"}])
def test_pages_have_no_gaps_and_no_duplicates(store: Store, limit: int, parameters: dict[str, str]) -> None:
    indexed(store, *EVENTS)
    complete = run_search(store, **parameters)
    assert complete.next is None
    pages, after = [], None
    while not pages or after:
        result = run_search(store, **parameters, limit=limit, after=after)  # type: ignore[arg-type]
        pages.append(result.items)
        after = result.next
    assert [hit for page in pages for hit in page] == complete.items
    assert {len(page) for page in pages[:-1]} <= {limit}
    assert pages[-1]


@pytest.mark.parametrize("cursor", ["!", "é", "A", "\0"])
def test_invalid_cursor_is_rejected(store: Store, cursor: str) -> None:
    with pytest.raises(InvalidParameter, match="not a cursor"):
        run_search(store, "sales", after=cursor)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names_are_found_by_themselves_only(store: Store, text: str) -> None:
    indexed(store, dataset_event(0, dataset(text, text, documentation=make.facet(description=text))), EVENTS[1])
    hits = run_search(store, text).items
    assert [(hit.namespace, hit.name) for hit in hits[:1]] == ([(text, text)] if text.strip() else [])
    assert [hit.name for hit in run_search(store, namespace=text).items] == [text]
    for filters in ({"owner": text}, {"tag": text}, {"category": text}, {"format": text}):
        assert run_search(store, text, **filters).items == []


@pytest.mark.parametrize(
    "query",
    [
        '"', "'", "\\", "a\0b", "sales AND", "NEAR(sales", "sales*", "words:sales", "-sales", "^sales", "(((", "sales & !",
        "':*", "$trigger$", "?1 $1 :a @b", "\ud800", "a" * 100_000, "a b " * 25_000, "漢字" * 20_000, "sales " + "'\"\\" * 30_000,
        "aB1" * 30_000,
    ],
    ids=lambda query: repr(query[:12]),
)  # fmt: skip
def test_hostile_queries_are_treated_as_words(store: Store, query: str) -> None:
    indexed(store, *EVENTS)
    for filters in ({}, {"namespace": query}, {"namespace": query + "*"}, {"tag": query}):
        run_search(store, query, **filters)
    if query.strip("*-^& !") == "sales":
        assert sorted(names(store, query)) == sorted(names(store, "sales"))


def test_every_name_finds_a_dataset_and_late_symlinks_merge_entries(store: Store) -> None:
    indexed(
        store, dataset_event(0, dataset("/w/one", "file", schema=make.schema("k"))), dataset_event(1, dataset("two"))
    )
    assert (names(store, "one"), names(store, "two")) == (["/w/one"], ["two"])
    indexed(store, dataset_event(2, dataset("/w/one", "file", symlinks=make.symlinks("two"))))
    assert (
        names(store, "one") == names(store, "two") == names(store, "k") == names(store, namespace="file") == ["two"]
    )
    indexed(store, dataset_event(3, dataset("/w/one", "file", symlinks=make.DELETED)))
    assert (names(store, "one"), names(store, "two"), names(store, "k")) == (["/w/one"], ["two"], ["/w/one"])


def test_dropped_dataset_is_inactive(store: Store) -> None:
    dropped = dataset("gone", lifecycleStateChange=make.lifecycle("DROP"))
    indexed(store, run_event(run=1, outputs=[dataset("gone")]), run_event(second=1, run=2, outputs=[dropped]))
    assert [hit.active for hit in run_search(store, "gone").items] == [False]
    indexed(store, run_event(second=2, run=3, outputs=[dataset("gone")]))
    assert [hit.active for hit in run_search(store, "gone").items] == [True]


def test_steps_of_an_application_are_not_indexed(store: Store) -> None:
    indexed(store, make.app("START", 0), make.action("COMPLETE", 1))
    assert names(store, "app1") == ["app1"]


def test_indexed_step_is_removed_once_its_application_is_known(store: Store) -> None:
    orphan = run_event(run=2, job="app1.2", job_facets={"jobType": make.spark_type()})
    assert names(indexed(store, orphan), "app1") == ["app1.2"]
    assert names(indexed(store, make.action("COMPLETE", 1)), "app1") == ["app1"]


def test_organisations_find_only_their_own_entries(store: Store) -> None:
    other = Store("other", db=store.db)
    indexed(store, *EVENTS)
    indexed(other, dataset_event(0, dataset("sales")))
    assert names(other, "sales") == ["sales"]
    assert run_search(other, owner="etl").items == []
    assert {hit.id for hit in run_search(store, "sales").items}.isdisjoint(
        hit.id for hit in run_search(other, "sales").items
    )


@pytest.mark.parametrize(
    ("q", "suggestions"), [("custmers", ["customers"]), ("zz", []), ("custmers zzzz", []), ("stomers", [])]
)
def test_mistyped_word_suggests_similar_names(store: Store, q: str, suggestions: list[str]) -> None:
    indexed(store, dataset_event(0, dataset("db.customers")))
    assert run_search(store, q).near == suggestions


@pytest.mark.parametrize(
    "body",
    [{"tags": 3}, {"tags": [3, None, {"key": None}, {"key": ["x"]}]}, {"owners": {"name": 1}}, {"owners": ["x", {"name": 7}]}],
)  # fmt: skip
def test_facets_of_any_shape_are_accepted(store: Store, body: dict[str, Any]) -> None:
    odd = make.facet(**body)
    assert names(indexed(store, dataset_event(0, dataset("odd", tags=odd, ownership=odd))), "odd") == ["odd"]

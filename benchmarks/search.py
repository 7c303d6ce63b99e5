"""Measures searches over many datasets with columns and descriptions, beside a plain scan of the same store.

python -m benchmarks.search                    100,000 datasets on both stores, some minutes
python -m benchmarks.search --datasets 10000
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import msgspec

from benchmarks.walk import load
from bridge.bootstrap.intake import tune_garbage_collector
from bridge.bootstrap.store import make_indexer, open_store
from bridge.settings.model import Settings, StoreSettings
from bridge.store.database import Database
from bridge.store.search.search import SearchCriteria, search
from tests.postgres import bin_folder, running_server

_REPEATS = 40
_TOPICS, _WORDS = 400, 5_000
_SCAN = """
SELECT d.dataset_id FROM ol_dataset d
LEFT JOIN dataset_schema s ON s.org_id = d.org_id AND s.dataset_id = d.dataset_id
WHERE d.org_id = ?1 AND (lower(d.name) LIKE ?2 OR lower(d.description) LIKE ?2 OR lower(s.columns_json) LIKE ?2)
ORDER BY length(d.name), d.name LIMIT 20
"""


def name_of(number: int) -> str:
    """Name a dataset: half of them hold orders."""
    return f"analytics.topic{number % _TOPICS:03}.{'orders' if number % 2 else 'customers'}_{number:06}"


def events(count: int) -> Iterator[bytes]:
    """Describe each dataset in an event of its own."""
    chance = random.Random(1)
    for number in range(count):
        text = " ".join(f"word{chance.randrange(_WORDS)}" for _ in range(12))
        fields = [{"name": f"col{i}_of{number % 97}", "type": "string"} for i in range(10)]
        facets = {
            "schema": {"fields": fields},
            "documentation": {"description": text},
            "ownership": {"owners": [{"name": f"team{number % 50}", "type": "team"}]},
            "storage": {"storageLayer": "x", "fileFormat": "parquet" if number % 3 else "csv"},
            "tags": {"tags": [{"key": f"tag{number % 500}", "value": "true"}]},
        }
        named = {"_producer": "https://example.com", "_schemaURL": "https://example.com/facet"}
        yield msgspec.json.encode(
            {
                "eventTime": f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}Z",
                "producer": "https://example.com/search",
                "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
                "dataset": {
                    "namespace": f"postgres://warehouse{number % 20}:5432",
                    "name": name_of(number),
                    "facets": {key: facet | named for key, facet in facets.items()},
                },
            }
        )


def mix(count: int) -> dict[str, Callable[[random.Random], SearchCriteria]]:
    """Give the kinds of searches."""
    return {
        "exact name": lambda r: SearchCriteria(name_of(r.randrange(count))),
        "one rare word": lambda r: SearchCriteria(f"{r.randrange(count):06}"),
        "two words": lambda r: SearchCriteria(f"word{r.randrange(_WORDS)} topic{r.randrange(_TOPICS):03}"),
        "two common words that never meet": lambda _: SearchCriteria("customers orders"),
        "prefix": lambda r: SearchCriteria(f"topic{r.randrange(_TOPICS):03}"[:7]),
        "common word, in half the names": lambda _: SearchCriteria("orders"),
        "common word, in all columns": lambda r: SearchCriteria(f"col{r.randrange(10)}"),
        "filter only": lambda r: SearchCriteria(owner=f"team{r.randrange(50)}", format="csv"),
        "filter only, nearly all": lambda _: SearchCriteria(namespace="postgres://*", type="dataset"),
        "nothing found": lambda r: SearchCriteria(f"zzz{r.randrange(count)}"),
    }


def timed(once: Callable[[], object], took: list[float]) -> None:
    """Do something, and note how many milliseconds it took."""
    begun = time.perf_counter()
    once()
    took.append((time.perf_counter() - begun) * 1000)


def scan(db: Database, org: str, wanted: SearchCriteria) -> None:
    """Search without any index: what names, descriptions and columns hold the text."""
    db.fetch_all(_SCAN, org, f"%{(wanted.q or wanted.owner or '').lower()}%")


def measure(settings: Settings, count: int, kind: str) -> None:
    """Search a store and print how long it takes."""
    chance, everything = random.Random(2), list[float]()
    with closing(open_store(settings)) as db:
        for name, make in mix(count).items():
            took, plain = list[float](), list[float]()
            for number in range(_REPEATS):
                wanted = make(chance)
                timed(lambda wanted=wanted: search(db, settings.org, wanted), took)  # type: ignore[misc]
                if number < 3:
                    timed(lambda wanted=wanted: scan(db, settings.org, wanted), plain)  # type: ignore[misc]
            everything += took
            _print(f"{name}, {kind}", took, statistics.median(plain) / statistics.median(took))
    _print(f"the mix, {kind}", everything)


def _print(name: str, took: list[float], ratio: float | None = None) -> None:
    told = f"{ratio:8.0f}" if ratio else ""
    print(
        f"{name:48} {statistics.median(took):8.2f} ms {statistics.quantiles(took, n=20)[-1]:8.2f} ms{told}",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=100_000)
    count = parser.parse_args().datasets
    tune_garbage_collector()
    print(f"{count:,} datasets{'':33} {'p50':>11} {'p95':>11} scan/p50")
    with ExitStack() as stack:
        stores = {"SQLite": f"sqlite:///{stack.enter_context(tempfile.TemporaryDirectory())}/store.db"}
        if bin_folder():
            server = stack.enter_context(running_server("fsync=on", "shared_buffers=256MB"))
            stores["PostgreSQL"] = server.new_database("search")
        for kind, url in stores.items():
            settings = Settings(store=StoreSettings(url=url))
            written = load(settings, events(count))
            with closing(make_indexer(settings)) as indexer:
                begun = time.perf_counter()
                indexer.index_all()
            took = time.perf_counter() - begun
            print(f"{kind}: written in {written:.0f} s, indexed in {took:.0f} s ({count / took:.0f} a second)")
            measure(settings, count, kind)


if __name__ == "__main__":
    main()

"""Measures searches over many datasets with columns and descriptions, compared with table scans.

python -m benchmarks.search                    100,000 datasets on both stores, a few minutes
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


def dataset_name(number: int) -> str:
    """Name of a dataset; half of them contain 'orders'."""
    return f"analytics.topic{number % _TOPICS:03}.{'orders' if number % 2 else 'customers'}_{number:06}"


def events(count: int) -> Iterator[bytes]:
    """One event per dataset."""
    rng = random.Random(1)
    for number in range(count):
        text = " ".join(f"word{rng.randrange(_WORDS)}" for _ in range(12))
        fields = [{"name": f"col{i}_of{number % 97}", "type": "string"} for i in range(10)]
        facets = {
            "schema": {"fields": fields},
            "documentation": {"description": text},
            "ownership": {"owners": [{"name": f"team{number % 50}", "type": "team"}]},
            "storage": {"storageLayer": "x", "fileFormat": "parquet" if number % 3 else "csv"},
            "tags": {"tags": [{"key": f"tag{number % 500}", "value": "true"}]},
        }
        base_fields = {"_producer": "https://example.com", "_schemaURL": "https://example.com/facet"}
        yield msgspec.json.encode(
            {
                "eventTime": f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}Z",
                "producer": "https://example.com/search",
                "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
                "dataset": {
                    "namespace": f"postgres://warehouse{number % 20}:5432",
                    "name": dataset_name(number),
                    "facets": {key: facet | base_fields for key, facet in facets.items()},
                },
            }
        )


def mix(count: int) -> dict[str, Callable[[random.Random], SearchCriteria]]:
    """Kinds of searches."""
    return {
        "exact name": lambda r: SearchCriteria(dataset_name(r.randrange(count))),
        "one rare word": lambda r: SearchCriteria(f"{r.randrange(count):06}"),
        "two words": lambda r: SearchCriteria(f"word{r.randrange(_WORDS)} topic{r.randrange(_TOPICS):03}"),
        "two common words, never together": lambda _: SearchCriteria("customers orders"),
        "prefix": lambda r: SearchCriteria(f"topic{r.randrange(_TOPICS):03}"[:7]),
        "common word, in half the names": lambda _: SearchCriteria("orders"),
        "common word, in all columns": lambda r: SearchCriteria(f"col{r.randrange(10)}"),
        "filter only": lambda r: SearchCriteria(owner=f"team{r.randrange(50)}", format="csv"),
        "filter only, nearly all": lambda _: SearchCriteria(namespace="postgres://*", type="dataset"),
        "nothing found": lambda r: SearchCriteria(f"zzz{r.randrange(count)}"),
    }


def measure_ms(call: Callable[[], object], samples: list[float]) -> None:
    """Call a function and append its milliseconds."""
    start = time.perf_counter()
    call()
    samples.append((time.perf_counter() - start) * 1000)


def scan(db: Database, org: str, criteria: SearchCriteria) -> None:
    """Search names, descriptions and columns without an index."""
    db.fetch_all(_SCAN, org, f"%{(criteria.q or criteria.owner or '').lower()}%")


def measure(settings: Settings, count: int, kind: str) -> None:
    """Print search times of a store."""
    rng, all_samples = random.Random(2), list[float]()
    with closing(open_store(settings)) as db:
        for name, make_criteria in mix(count).items():
            samples, scan_samples = list[float](), list[float]()
            for number in range(_REPEATS):
                criteria = make_criteria(rng)
                measure_ms(lambda criteria=criteria: search(db, settings.org, criteria), samples)  # type: ignore[misc]
                if number < 3:
                    measure_ms(lambda criteria=criteria: scan(db, settings.org, criteria), scan_samples)  # type: ignore[misc]
            all_samples += samples
            _print(f"{name}, {kind}", samples, statistics.median(scan_samples) / statistics.median(samples))
    _print(f"all searches, {kind}", all_samples)


def _print(name: str, samples: list[float], ratio: float | None = None) -> None:
    ratio_text = f"{ratio:8.0f}" if ratio else ""
    p95 = statistics.quantiles(samples, n=20)[-1]
    print(f"{name:48} {statistics.median(samples):8.2f} ms {p95:8.2f} ms{ratio_text}", flush=True)


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
            load_seconds = load(settings, events(count))
            with closing(make_indexer(settings)) as indexer:
                start = time.perf_counter()
                indexer.index_all()
            index_seconds = time.perf_counter() - start
            rate = count / index_seconds
            print(f"{kind}: written in {load_seconds:.0f} s, indexed in {index_seconds:.0f} s ({rate:.0f}/s)")
            measure(settings, count, kind)


if __name__ == "__main__":
    main()

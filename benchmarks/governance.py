"""Measures planning and pushing of asset files against a stand-in in a separate process.

python -m benchmarks.governance                1,000 assets
python -m benchmarks.governance --assets 5000
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import yaml

from benchmarks.sync import make_settings, standin
from benchmarks.walk import load
from bridge.bootstrap.governance import open_asset_sync
from bridge.governance.asset_files import load_assets
from bridge.settings.model import Settings
from tests.factories import dataset, run_event, schema

_NAMESPACE, _TABLES_PER_RUN = "bench", 100


def events(count: int) -> Iterator[bytes]:
    """Runs that write the tables of the assets."""
    for first in range(0, count, _TABLES_PER_RUN):
        names = [f"t{number:05}" for number in range(first, min(first + _TABLES_PER_RUN, count))]
        outputs = [dataset(name, _NAMESPACE, schema=schema("id", "email", "amount")) for name in names]
        yield msgspec.json.encode(run_event("COMPLETE", 0, run=first + 1, job=f"load {first}", outputs=outputs))


def write_assets(folder: Path, count: int, description: str) -> None:
    """Write an asset file for each table."""
    for number in range(count):
        asset = {
            "name": f"t{number:05}",
            "namespace": _NAMESPACE,
            "description": f"{description} {number}",
            "schema": [{"name": "email", "classification": "PII", "required": True}],
            "governance": {
                "owner": f"team {number % 10}",
                "tags": ["production", f"area {number % 7}"],
                "retention_days": 90,
                "openmetadata": {"domain": f"domain {number % 5}", "tier": f"Tier{1 + number % 5}"},
            },
            "custom_properties": {"cost_center": number},
        }
        (folder / f"t{number:05}.yaml").write_text(yaml.safe_dump({"asset": asset}), encoding="utf-8")


def measure(settings: Settings, folder: Path, count: int) -> Iterator[str]:
    """Measure a plan and a push, both again, and a push after changing a tenth of the assets."""
    calls: Counter[str] = Counter()
    for step in ("plan", "push", "push again", "plan again", "push a changed tenth"):
        changed = max(1, count // 10) if "changed" in step else count
        if changed < count:
            write_assets(folder, changed, "changed")
        start, calls_before = time.perf_counter(), Counter(calls)
        loaded = load_assets([folder]).loaded
        load_seconds = time.perf_counter() - start
        with open_asset_sync(settings, lambda kind: calls.update([kind])) as asset_sync:
            if step.startswith("plan"):
                asset_sync.plan(loaded)
            else:
                asset_sync.push(loaded, {})
        seconds, new_calls = time.perf_counter() - start, calls - calls_before
        by_kind = ", ".join(f"{number} {kind}" for kind, number in sorted(new_calls.items())) or "no calls"
        per_asset = new_calls.total() / changed
        times = f"{seconds:7.2f} s, {load_seconds:.2f} s of it loading"
        yield f"{step:22}{times}; {per_asset:5.2f} calls per asset: {by_kind}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assets", type=int, default=1_000)
    count = parser.parse_args().assets
    with tempfile.TemporaryDirectory() as folder, standin() as (host, _):
        asset_folder = Path(folder) / "assets"
        asset_folder.mkdir()
        settings = make_settings(Path(folder) / "store.db", host)
        load(settings, events(count))
        write_assets(asset_folder, count, "first")
        with open_asset_sync(settings, lambda _: None) as asset_sync:
            asset_sync.push([], {})
        print(f"{count} assets")
        for line in measure(settings, asset_folder, count):
            print(line, flush=True)


if __name__ == "__main__":
    main()

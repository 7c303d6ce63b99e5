"""Measures how fast asset files are planned and pushed, against a stand-in in a process of its own.

python -m benchmarks.governance                1,000 assets, as the issue asks for
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

from benchmarks.sync import settings_of, standin
from benchmarks.walk import load
from bridge.bootstrap.governance import open_asset_sync
from bridge.governance.asset_files import load_assets
from bridge.settings.model import Settings
from tests.factories import dataset, run_event, schema

_NAMESPACE, _AT_ONCE = "bench", 100


def events(count: int) -> Iterator[bytes]:
    """Write the tables that assets are about."""
    for first in range(0, count, _AT_ONCE):
        names = [f"t{number:05}" for number in range(first, min(first + _AT_ONCE, count))]
        outputs = [dataset(name, _NAMESPACE, schema=schema("id", "email", "amount")) for name in names]
        yield msgspec.json.encode(run_event("COMPLETE", 0, run=first + 1, job=f"load {first}", outputs=outputs))


def write_assets(place: Path, count: int, description: str) -> None:
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
        (place / f"t{number:05}.yaml").write_text(yaml.safe_dump({"asset": asset}), encoding="utf-8")


def lines(settings: Settings, place: Path, count: int) -> Iterator[str]:
    """Measure a plan, a push, a second one, and one after a change of a tenth."""
    calls: Counter[str] = Counter()
    for what in ("plan", "push", "push again", "plan again", "push a changed tenth"):
        changed = max(1, count // 10) if "changed" in what else count
        if changed < count:
            write_assets(place, changed, "changed")
        begun, before = time.perf_counter(), Counter(calls)
        loaded = load_assets([place]).loaded
        read = time.perf_counter() - begun
        with open_asset_sync(settings, lambda kind: calls.update([kind])) as steward:
            if what.startswith("plan"):
                steward.plan(loaded)
            else:
                steward.push(loaded, {})
        took, made = time.perf_counter() - begun, calls - before
        told = ", ".join(f"{number} {kind}" for kind, number in sorted(made.items())) or "no calls"
        each = made.total() / changed
        yield f"{what:22}{took:7.2f} s, {read:.2f} s of it reading; {each:5.2f} calls an asset: {told}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assets", type=int, default=1_000)
    count = parser.parse_args().assets
    with tempfile.TemporaryDirectory() as folder, standin() as (host, _):
        place = Path(folder) / "assets"
        place.mkdir()
        settings = settings_of(Path(folder) / "store.db", host)
        load(settings, events(count))
        write_assets(place, count, "first")
        with open_asset_sync(settings, lambda _: None) as steward:
            steward.push([], {})
        print(f"{count} assets")
        for line in lines(settings, place, count):
            print(line, flush=True)


if __name__ == "__main__":
    main()

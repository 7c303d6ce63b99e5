"""Events for benchmarks: captured Spark events as new runs, and synthetic events with new names only."""

import re
from pathlib import Path
from typing import Any

import msgspec

DATA = Path(__file__).parents[1] / "tests" / "data" / "events"
_RUN_ID = re.compile(rb'"runId":"01a1ee[0-9a-f]{2}-')
_TIME = re.compile(rb'"eventTime":"2026-11-18T')
_PRODUCER = "https://example.com/job"
_FACETS = "https://openlineage.io/spec/facets/"


def real_events(count: int, day: int = 0) -> list[bytes]:
    """Repeat the captured events as new runs of the same jobs, each repetition a day later."""
    lines = [line for path in sorted(DATA.glob("spark-*/*.ndjson")) for line in path.read_bytes().splitlines()]
    events: list[bytes] = []
    for repetition in range(count // len(lines) + 1):
        number = day * 64 + repetition
        run, date = (
            b'"runId":"%06x%02x-' % (number + 1, 0),
            b'"eventTime":"2027-%02d-%02dT' % (number // 28 % 12 + 1, number % 28 + 1),
        )
        events.extend(
            _TIME.sub(date, _RUN_ID.sub(lambda m, run=run: run[:-3] + m.group(0)[-3:-1] + b"-", line))
            for line in lines
        )
    return events[:count]


def new_events(count: int, start: int = 0) -> list[bytes]:
    """Events of about 5 kB with new names: two inputs, one output, 10 columns each, 10 column lineage fields."""
    return [msgspec.json.encode(_new_event(number)) for number in range(start, start + count)]


def facet(kind: str, version: str, /, **content: Any) -> dict[str, Any]:
    """A standard OpenLineage facet."""
    url = f"{_FACETS}{version}/{kind}.json#/$defs/{kind}"
    return {
        "_producer": "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/client",
        "_schemaURL": url,
        **content,
    }


def _dataset(number: int, name: str, **facets: Any) -> dict[str, Any]:
    fields = [{"name": f"{name}_col{i}", "type": "string" if i % 2 else "long"} for i in range(10)]
    schema = facet("SchemaDatasetFacet", "1-2-0", fields=fields)
    uri = "postgres://warehouse.example.com:5432"
    return {
        "namespace": uri,
        "name": f"analytics.public.{name}_{number}",
        "facets": {
            "schema": schema,
            **facets,
        },
    }


def _time(number: int) -> str:
    return f"2027-01-01T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}.{number % 1000:03d}Z"


def _new_event(number: int) -> dict[str, Any]:
    left, right = _dataset(number, "orders"), _dataset(number, "customers")
    fields = {
        f"report_col{i}": {
            "inputFields": [
                {
                    "namespace": side["namespace"],
                    "name": side["name"],
                    "field": f"{name}_col{i}",
                    "transformations": [{"type": "DIRECT", "subtype": "IDENTITY", "masking": False}],
                }
            ]
        }
        for i in range(10)
        for side, name in [(left, "orders") if i % 2 else (right, "customers")]
    }
    report = _dataset(number, "report", columnLineage=facet("ColumnLineageDatasetFacet", "1-2-0", fields=fields))
    report["outputFacets"] = {
        "outputStatistics": facet("OutputStatisticsOutputDatasetFacet", "1-0-2", rowCount=number)
    }
    engine = facet("ProcessingEngineRunFacet", "1-1-1", version="4.1.4", name="spark")
    return {
        "eventTime": _time(number),
        "eventType": "COMPLETE",
        "producer": _PRODUCER,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": f"{number:08x}-0000-7000-8000-000000000000", "facets": {"processing_engine": engine}},
        "job": {"namespace": "benchmark", "name": f"report_{number}", "facets": {}},
        "inputs": [left, right],
        "outputs": [report],
    }

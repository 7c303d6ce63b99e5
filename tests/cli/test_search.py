"""Output of `search`."""

import json
from uuid import UUID

import pytest

from mappers.openlineage.names import canonical_dataset_name, canonical_job_name
from tests import factories as make
from tests.commands import RunCli
from tests.factories import dataset, run_event

FACETS = {
    "documentation": make.facet(description="\nwhat was sold\nand where"),
    "ownership": make.facet(owners=[{"name": "etl", "type": "team"}]),
    "tags": make.facet(tags=[{"key": "pii"}]),
    "storage": make.facet(fileFormat="parquet"),
    "schema": make.schema("email"),
}
EVENTS = (
    run_event(job="sales job", inputs=[dataset("/raw\n", "s3://lake")], outputs=[dataset("sales", **FACETS)]),
    run_event(second=1, run=2, outputs=[dataset("old_sales", lifecycleStateChange=make.lifecycle("DROP"))]),
)
SALES = "dataset  db sales   [etl, #pii, parquet]\n         what was sold\n"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["sales"], SALES + "dataset  db old_sales   (dropped)\njob      jobs sales job\n"),
        (["sales", "--limit", "1"], SALES + "… results truncated: raise --limit\n"),
        (["sales", "--type", "job"], "job      jobs sales job\n"),
        (["--tag", "PII"], SALES),
        (["--owner", "ETL", "--format", "parquet", "--namespace", "d*"], SALES),
        (["ema"], SALES),
        (["raw", "--namespace", "s3://lake"], "dataset  s3://lake /raw\\n\n"),
        (["--rebuild", "email"], SALES),
        (["--rebuild"], ""),
    ],
)
def test_text_output(run_cli: RunCli, args: list[str], text: str) -> None:
    assert run_cli(["search", *args], *EVENTS).stdout == text


def test_json_output(run_cli: RunCli) -> None:
    dataset_id, old_id, job_id = (str(UUID(bytes=name.id)) for name in (
        canonical_dataset_name("default", "db", "sales"), canonical_dataset_name("default", "db", "old_sales"),
        canonical_job_name("default", "jobs", "sales job"),
    ))  # fmt: skip
    answer = json.loads(run_cli("search sal --output json --limit 2", *EVENTS).stdout)
    after = answer.pop("next")
    assert answer == {
        "items": [
            {
                "type": "dataset", "id": dataset_id, "namespace": "db", "name": "sales",
                "description": "\nwhat was sold\nand where", "owners": ["etl"], "tags": ["pii"], "format": "parquet",
                "category": None, "active": True,
            },
            {
                "type": "dataset", "id": old_id, "namespace": "db", "name": "old_sales", "description": None,
                "owners": [], "tags": [], "format": None, "category": None, "active": False,
            },
        ],
        "pending": 0,
        "near": [],
    }  # fmt: skip
    rest = json.loads(run_cli(["search", "sal", "--output", "json", "--after", after], *EVENTS).stdout)
    assert ([(hit["type"], hit["id"]) for hit in rest["items"]], rest["next"]) == ([("job", job_id)], None)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nothing"], "error: nothing found for 'nothing'"),
        (["salse"], "error: nothing found for 'salse'; similar: sales"),
        (["--owner", "nobody"], "error: nothing found"),
        (["no\x1b[31mthing"], "error: nothing found for 'no\\x1b[31mthing'"),
    ],
)
def test_no_match_is_an_error(run_cli: RunCli, args: list[str], message: str) -> None:
    result = run_cli(["search", *args], *EVENTS)
    assert (result.exit_code, result.stdout, result.stderr.strip()) == (1, "", message)


@pytest.mark.parametrize("args", [[], [" "], ["--limit", "5"], ["x", "--type", "column"], ["x", "--limit", "0"]])
def test_search_requires_text_or_filter(run_cli: RunCli, args: list[str]) -> None:
    assert run_cli(["search", *args]).exit_code == 2

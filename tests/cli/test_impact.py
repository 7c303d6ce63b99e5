"""Output of `impact`, and dataset arguments of the command line."""

import json
from uuid import UUID

import pytest

from mappers.openlineage.names import canonical_dataset_name, canonical_job_name
from tests import factories as make
from tests.commands import RunCli
from tests.factories import dataset, run_event

OWNED = {"ownership": make.facet(owners=[{"name": "etl", "type": "team"}])}
EVENTS = (
    run_event(
        job="first", job_facets=OWNED, inputs=[dataset("/a", "s3://lake")], outputs=[dataset("b\n", "s3://lake/x")]
    ),
    run_event(second=1, run=2, job="second", inputs=[dataset("b\n", "s3://lake/x")], outputs=[dataset("c")]),
)
ALL = """\
2 datasets
    1  s3://lake/x b\\n
    2  db c
2 jobs
    1  jobs first   [etl]
    2  jobs second
owners: etl
"""


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["s3://lake", "/a"], ALL),
        (["s3://lake/a"], ALL),
        (["s3://lake//a"], ALL),
        (
            ["s3://lake", "/a", "--depth", "1"],
            "1 dataset\n    1  s3://lake/x b\\n\n1 job\n    1  jobs first   [etl]\nowners: etl\n… results truncated: raise --depth\n",
        ),
        (["s3://lake/x/b\n"], "1 dataset\n    1  db c\n1 job\n    1  jobs second\nowners: none\n"),
        (["db/c"], "0 datasets\n0 jobs\nowners: none\n"),
    ],
)
def test_text_output(run_cli: RunCli, args: list[str], text: str) -> None:
    assert run_cli(["impact", *args], *EVENTS).stdout == text


def test_json_output(run_cli: RunCli) -> None:
    dataset_id, job_id = (str(UUID(bytes=name.id)) for name in (
        canonical_dataset_name("default", "s3://lake/x", "b\n"), canonical_job_name("default", "jobs", "first"),
    ))  # fmt: skip
    assert json.loads(run_cli("impact s3://lake/a --output json --depth 1", *EVENTS).stdout) == {
        "datasets": [
            {"id": dataset_id, "namespace": "s3://lake/x", "name": "b\n", "distance": 1, "owners": [], "sla": None}
        ],
        "jobs": [{"id": job_id, "namespace": "jobs", "name": "first", "distance": 1, "owners": ["etl"], "sla": None}],
        "owners": ["etl"],
        "cut": "depth",
    }


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("impact nowhere", "error: no dataset 'nowhere' in the store"),
        ("impact db nothing", "error: no dataset 'nothing' in namespace 'db' in the store"),
        ("lineage s3://lake/", "error: no dataset 's3://lake/' in the store"),
    ],
)
def test_unknown_dataset_is_an_error(run_cli: RunCli, args: str, message: str) -> None:
    result = run_cli(args, *EVENTS)
    assert (result.exit_code, result.stderr.strip()) == (1, message)

"""Lineage that is too large for one response."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bridge.cli.main import app as command
from bridge.queries import lineage
from tests.api.service import RunningService, settings_for
from tests.factories import columns, dataset, field, run_event

_LINEAGE = "/api/v1/dataset/by-name/lineage?namespace=db&name=out3"
_COLUMN = "/api/v1/dataset/by-name/columns/lineage?namespace=db&name=out3&field=c0"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[RunningService]:
    """A chain of four datasets; each column of a dataset derives from all columns of its source."""
    with RunningService(settings_for(tmp_path)) as running:
        for number in range(1, 4):
            sources = [field(f"out{number - 1}", f"c{column}") for column in range(20)]
            derived = columns({f"c{column}": sources for column in range(20)})
            event = run_event(
                run=number,
                job=f"job{number}",
                inputs=[dataset(f"out{number - 1}")],
                outputs=[dataset(f"out{number}", columnLineage=derived)],
            )
            assert running.post(event).status_code == 201
        yield running


def pages(api: RunningService, path: str) -> list[dict[str, Any]]:
    results = [api.get(path).json()]
    while results[-1]["next"]:
        assert results[-1]["cut"] == "size"
        results.append(api.get(f"{path}&after={results[-1]['next']}").json())
    return results


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100, 401, 1203, 1204])
def test_pages_contain_each_edge_and_hop_once(api: RunningService, limit: int) -> None:
    path = f"{_LINEAGE}&columns=true&most=100000&granularity=run"
    whole = api.get(path).json()
    assert (len(whole["edges"]), len(whole["columns"]), whole["cut"], whole["next"]) == (3, 1200, None, None)
    if limit < 10:
        path, whole["columns"] = path.replace("columns=true", "columns=false"), []
    results = pages(api, f"{path}&limit={limit}")
    assert all(len(page["edges"]) + len(page["columns"]) <= limit for page in results)
    assert len(results) == -(-(len(whole["edges"]) + len(whole["columns"])) // limit)
    for key in ("edges", "columns"):
        assert [item for page in results for item in page[key]] == whole[key]
    assert results[-1]["cut"] is None


def test_column_lineage_has_pages(api: RunningService) -> None:
    whole = api.get(_COLUMN).json()["hops"]
    assert len(whole) == 20 + 2 * 400
    results = pages(api, f"{_COLUMN}&limit=300")
    assert [len(page["hops"]) for page in results] == [300, 300, 220]
    assert [hop for page in results for hop in page["hops"]] == whole


def test_size_of_a_response_is_limited_by_default(api: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    assert api.get(f"{_LINEAGE}&limit={lineage.MAX_PAGE_ITEMS + 1}").status_code == 400
    assert api.get(f"{_LINEAGE}&after=W-5d").status_code == 400
    assert api.get(f"{_LINEAGE}&after=Wy01XQ").status_code == 400
    monkeypatch.setattr(lineage, "MAX_PAGE_ITEMS", 500)
    monkeypatch.setenv("LINEAGE_BRIDGE__STORE__URL", api.settings.store.url)
    arguments = ["lineage", "db", "out3", "--columns", "--output", "json"]
    printed = CliRunner().invoke(command, arguments, catch_exceptions=False).stdout
    assert '"next":null' in printed.replace(" ", "")
    assert printed.count('"masking"') == 1200

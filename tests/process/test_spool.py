"""Forwarding of listener events, without staging datasets."""

import json
from pathlib import Path
from typing import Any

from bridge.process.spool import STAGING, send_abandoned_spools, send_spool, spool_file
from bridge.queries.lineage import LineageQuery
from tests import factories as make
from tests.factories import run_event
from tests.process.process_lake import ProcessHarness

STAGED = make.dataset(f"/lake/{STAGING}/20260101T000000-1/d")


def write_spool(folder: Path, *events: Any) -> Path:
    file = spool_file(folder, "run")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return file


def test_staging_datasets_are_skipped(harness: ProcessHarness, tmp_path: Path) -> None:
    lineage = make.facet(
        fields={"id": {"inputFields": [{"namespace": "file", "name": STAGED["name"], "field": "id"}]}}
    )
    table = make.dataset("/lake/d", columnLineage=lineage)
    staging = run_event("COMPLETE", 1, run=1, inputs=[make.dataset("/lake/raw")], outputs=[STAGED])
    loading = run_event("COMPLETE", 2, run=2, inputs=[STAGED], outputs=[table])
    result = send_spool(harness.backend, write_spool(tmp_path / "spool", staging, loading))
    assert (result.events, result.skipped, result.rejected) == (1, 1, [])
    assert harness.store.rows("SELECT name FROM ol_dataset") == [("/lake/d",)]


def test_reads_are_skipped_and_invalid_events_reported(harness: ProcessHarness, tmp_path: Path) -> None:
    read = run_event("COMPLETE", 1, run=1, inputs=[make.dataset("/lake/raw")])
    write = run_event("COMPLETE", 2, run=2, inputs=[make.dataset("/lake/raw")], outputs=[make.dataset("/lake/d")])
    invalid = {"outputs": 7, "of": STAGING}
    file = write_spool(tmp_path / "spool", read, write, invalid)
    result = send_spool(harness.backend, file)
    assert (result.events, result.skipped, len(result.rejected), file.exists()) == (2, 1, 1, False)
    dataset = {"namespace": write["outputs"][0]["namespace"], "name": "/lake/d"}
    assert len(harness.backend.query(LineageQuery(**dataset)).edges) == 1
    assert send_spool(harness.backend, file).events == 0


def test_abandoned_spools_are_sent_once(harness: ProcessHarness, tmp_path: Path) -> None:
    write_spool(tmp_path / "spool", run_event("COMPLETE", 2, run=2, outputs=[make.dataset("/lake/d")]))
    assert (
        send_abandoned_spools(harness.backend, tmp_path / "spool"),
        send_abandoned_spools(harness.backend, tmp_path / "spool"),
    ) == (
        1,
        0,
    )

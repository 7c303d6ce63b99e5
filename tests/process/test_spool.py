"""What of the listener's events is sent on: rows on their way into a table are nobody's dataset."""

import json
from pathlib import Path
from typing import Any

from bridge.process.spool import STAGING, send_abandoned_spools, send_spool, spool_file
from bridge.queries.lineage import LineageQuery
from tests import factories as make
from tests.factories import run_event
from tests.process.process_lake import Workshop

STAGED = make.dataset(f"/lake/{STAGING}/20260101T000000-1/d")


def spool(folder: Path, *events: Any) -> Path:
    file = spool_file(folder, "run")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(one) + "\n" for one in events), encoding="utf-8")
    return file


def test_rows_on_their_way_into_a_table_are_left_out(workshop: Workshop, tmp_path: Path) -> None:
    lineage = make.facet(
        fields={"id": {"inputFields": [{"namespace": "file", "name": STAGED["name"], "field": "id"}]}}
    )
    table = make.dataset("/lake/d", columnLineage=lineage)
    staging = run_event("COMPLETE", 1, run=1, inputs=[make.dataset("/lake/raw")], outputs=[STAGED])
    loading = run_event("COMPLETE", 2, run=2, inputs=[STAGED], outputs=[table])
    sent = send_spool(workshop.link, spool(tmp_path / "spool", staging, loading))
    assert (sent.events, sent.skipped, sent.rejected) == (1, 1, [])
    assert workshop.store.rows("SELECT name FROM ol_dataset") == [("/lake/d",)]


def test_what_looks_at_data_is_left_out_and_what_is_no_event_is_told(workshop: Workshop, tmp_path: Path) -> None:
    looking = run_event("COMPLETE", 1, run=1, inputs=[make.dataset("/lake/raw")])
    writing = run_event("COMPLETE", 2, run=2, inputs=[make.dataset("/lake/raw")], outputs=[make.dataset("/lake/d")])
    odd = {"outputs": 7, "of": STAGING}
    file = spool(tmp_path / "spool", looking, writing, odd)
    sent = send_spool(workshop.link, file)
    assert (sent.events, sent.skipped, len(sent.rejected), file.exists()) == (2, 1, 1, False)
    where = {"namespace": writing["outputs"][0]["namespace"], "name": "/lake/d"}
    assert len(workshop.link.query(LineageQuery(**where)).edges) == 1
    assert send_spool(workshop.link, file).events == 0


def test_what_killed_runs_left_is_sent(workshop: Workshop, tmp_path: Path) -> None:
    spool(tmp_path / "spool", run_event("COMPLETE", 2, run=2, outputs=[make.dataset("/lake/d")]))
    assert (
        send_abandoned_spools(workshop.link, tmp_path / "spool"),
        send_abandoned_spools(workshop.link, tmp_path / "spool"),
    ) == (
        1,
        0,
    )

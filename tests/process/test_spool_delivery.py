"""What the listener leaves while a process runs: sent once, without what merely looked at data, and never lost."""

import json
from pathlib import Path

import pytest

from bridge.process.spool import lock_spool, send_abandoned_spools, send_spool, spool_file
from connectors.errors import Unreachable
from tests.factories import Json, dataset, run_event, spark_type
from tests.process.process_lake import Workshop


def left(folder: Path, name: str, *events: Json | str) -> Path:
    file = spool_file(folder, name)
    folder.mkdir(exist_ok=True)
    lines = [one if isinstance(one, str) else json.dumps(one) for one in events]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def action(kind: str, second: int, run: int, **io: list[Json]) -> Json:
    return run_event(kind, second, run=run, job=f"app.action{run}", job_facets={"jobType": spark_type()}, **io)


APP = run_event("START", 1, run=9, job="app", job_facets={"jobType": spark_type("APPLICATION")})
WRITES = [action("START", 2, 1, inputs=[dataset("raw")]), action("COMPLETE", 3, 1, outputs=[dataset("out")])]
LOOKS = [action("START", 4, 2, inputs=[dataset("out")]), action("COMPLETE", 5, 2, inputs=[dataset("out")])]


def test_actions_that_wrote_nothing_are_left_out_and_the_rest_is_sent(workshop: Workshop, tmp_path: Path) -> None:
    file = left(tmp_path / "spool", "a", APP, *WRITES, *LOOKS)
    sent = send_spool(workshop.link, file)
    assert (sent.events, sent.skipped, sent.rejected) == (3, 2, [])
    assert not file.exists()
    jobs = workshop.store.rows("SELECT name FROM ol_job ORDER BY name")
    assert [name for (name,) in jobs] == ["app", "app.action1"]


def test_what_is_no_event_is_sent_too_so_that_it_is_kept_with_the_reason(workshop: Workshop, tmp_path: Path) -> None:
    sent = send_spool(workshop.link, left(tmp_path / "spool", "a", *WRITES, "{broken"))
    assert (sent.events, len(sent.rejected)) == (3, 1)
    assert workshop.store.value("SELECT count(*) FROM rejected_event") == 1


def test_nothing_left_is_nothing_sent(workshop: Workshop, tmp_path: Path) -> None:
    assert send_spool(workshop.link, tmp_path / "none.ndjson").events == 0


def test_what_cannot_be_sent_stays(workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = left(tmp_path / "spool", "a", *WRITES)

    def down(_: object) -> list[str]:
        raise Unreachable("down")

    monkeypatch.setattr(workshop.link, "send_events", down)
    with pytest.raises(Unreachable):
        send_spool(workshop.link, file)
    assert file.exists()


def test_what_dead_runs_left_is_sent_and_what_living_ones_write_is_theirs(workshop: Workshop, tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    dead, living = left(folder, "dead", *WRITES), left(folder, "living", APP)
    with lock_spool(living) as ours:
        assert ours
        assert send_abandoned_spools(workshop.link, folder) == 1
    assert (dead.exists(), living.exists()) == (False, True)
    assert send_abandoned_spools(workshop.link, folder) == 1
    assert list(folder.iterdir()) == []


def test_a_file_is_held_by_one_only(tmp_path: Path) -> None:
    file = spool_file(tmp_path / "spool", "a")
    with lock_spool(file) as first, lock_spool(file) as second:
        assert (first, second) == (True, False)

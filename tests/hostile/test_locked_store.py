"""A store that is locked, or does not finish a commit: every request is answered in time."""

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from bridge.api import command_routes, intake
from bridge.api.examples import EXAMPLES
from bridge.intake import group_commit
from bridge.settings.model import Settings
from bridge.store import postgres
from bridge.store.schema import upgrade_postgres
from bridge.versions.publish_commands import PublishCommand
from tests.api.service import RunningService
from tests.api.test_service import service_with_blocked_writer
from tests.factories import dataset, run_event
from tests.postgres import server
from tests.stores import as_bytes


@pytest.fixture
def _short_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "COMMIT_SECONDS", 1.0)
    monkeypatch.setattr(command_routes, "COMMIT_SECONDS", 1.0)
    monkeypatch.setattr(group_commit, "_MAX_COMMIT_SECONDS", 0.5)


@pytest.mark.usefixtures("_short_deadlines")
def test_stalled_commit_is_reported(tmp_path: Path) -> None:
    running, writer = service_with_blocked_writer(tmp_path)

    async def send(api: RunningService) -> None:
        requests = [asyncio.create_task(api.send(run_event(run=run))) for run in range(1, 4)]
        await asyncio.sleep(0.7)
        unready = await api.client.get("/readyz")
        assert (unready.status_code, "waiting for a commit for 1 s" in unready.json()["detail"]) == (503, True)
        for response in await asyncio.gather(*requests):
            assert (response.status_code, response.headers["retry-after"]) == (503, "2")
            assert "no commit within 1 s" in response.json()["detail"]
        writer.release.set()
        assert (await api.send(run_event(run=1))).status_code == 201
        assert (await api.client.get("/readyz")).status_code == 200

    with running as api:
        api.run(send(api))
    assert running.events() == 3


@contextmanager
def locked(url: str, table: str) -> Iterator[None]:
    with psycopg.connect(url) as other:
        other.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


def seconds_to(respond: Callable[[], int], expected: int) -> float:
    started_at = time.monotonic()
    assert respond() == expected
    return time.monotonic() - started_at


@pytest.mark.system("postgres")
@pytest.mark.usefixtures("_short_deadlines")
@pytest.mark.parametrize("table", ["run_event", "ol_job", "ol_dataset", "intake_ledger"])
def test_locked_table_is_answered_in_time(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "_DEFAULT_LOCK_TIMEOUT", "SET lock_timeout = 1500;")
    url = server().new_database(f"locked_{secrets.token_hex(4)}")
    upgrade_postgres(url, "locked")
    event = run_event(run=2, inputs=[dataset("read")])
    batch = b"[" + b",".join(as_bytes(run_event(run=run, inputs=[dataset(str(run))])) for run in range(1, 40)) + b"]"
    with RunningService(Settings.model_validate({"store": {"url": url}, "intake": {"max_group": 2}})) as api:
        assert api.post(run_event(run=1)).status_code == 201
        with locked(url, table):
            assert seconds_to(lambda: api.post(event).status_code, 503) < 2
            assert seconds_to(lambda: api.get("/readyz").status_code, 503) < 1
            assert seconds_to(lambda: api.post(batch, "/api/v1/lineage/batch").status_code, 503) < 3
            assert seconds_to(lambda: api.get("/readyz").status_code, 503) < 1
        deadline = time.monotonic() + 10
        while api.post(event).status_code != 201:
            assert time.monotonic() < deadline
        assert api.get("/readyz").status_code == 200


@pytest.mark.system("postgres")
@pytest.mark.usefixtures("_short_deadlines")
def test_commands_on_a_locked_table_are_answered_in_time() -> None:
    url = server().new_database(f"locked_{secrets.token_hex(4)}")
    upgrade_postgres(url, "locked")
    with RunningService(Settings.model_validate({"store": {"url": url}})) as api:
        body = EXAMPLES[PublishCommand]
        assert api.post(body, "/api/v1/publish").status_code == 404
        with locked(url, "ol_dataset"):
            assert seconds_to(lambda: api.post(body, "/api/v1/publish").status_code, 503) < 2
        assert api.post(body, "/api/v1/publish").status_code == 404

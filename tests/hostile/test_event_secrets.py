"""Passwords, tokens and keys in OpenLineage events are neither stored nor answered nor sent."""

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
import zstandard
from typer.testing import CliRunner

from bridge.cli.main import app
from bridge.intake import event_reader
from bridge.intake.event_export import export_events
from bridge.intake.event_import import EventImporter
from bridge.intake.redaction import StoreRedaction
from bridge.store.event_log import IncomingEvent, RejectedInput
from bridge.store.writer import Writer
from mappers.openlineage import event as event_module
from mappers.openlineage.event import NO_LIMITS, parse_event, parse_unredacted_event
from mappers.openlineage.redaction import may_contain_secrets, redact_event, redact_name, redact_text
from tests.api.service import RunningService, settings_for
from tests.commands import create_store
from tests.contract.targets import TARGETS
from tests.factories import (
    Json,
    columns,
    dataset,
    dataset_event,
    facet,
    field,
    job_event,
    parent,
    run_event,
    schema,
    symlinks,
)
from tests.stores import Store, as_bytes

SECRET = "SECRETXX"


def sql_event(query: str) -> Json:
    return run_event("COMPLETE", outputs=[dataset("t")], job_facets={"sql": facet(query=query)})


def error_event(message: str) -> Json:
    error = facet(message=message, programmingLanguage="Python", stackTrace=f"at x\n{message}")
    return run_event("FAIL", outputs=[dataset("t")], run_facets={"errorMessage": error})


def spark_event(**properties: Any) -> Json:
    return run_event("START", outputs=[dataset("t")], run_facets={"spark_properties": facet(properties=properties)})


def named(name: str, namespace: str) -> Json:
    return run_event("COMPLETE", inputs=[dataset("a")], outputs=[dataset(name, namespace, schema=schema("k"))])


EVENTS: dict[str, Json] = {
    "namespace": named("t", "postgres://u:SECRETXX@db:5432"),
    "name": named("postgres://u:SECRETXX@db/t", "db"),
    "user without password": named("t", "postgres://:SECRETXX@db"),
    "jdbc parameter": named("t", "jdbc:sqlserver://h;user=u;password=SECRETXX"),
    "oracle": named("t", "jdbc:oracle:thin:scott/SECRETXX@//db:1521/shop"),
    "url parameter": named("t", "https://h/x?token=SECRETXX&a=1"),
    "job namespace": job_event(1, inputs=[dataset("a")]) | {"job": {"namespace": "airflow://u:SECRETXX@h", "name": "j"}},
    "dataset event": dataset_event(1, dataset("t", "postgres://u:SECRETXX@db")),
    "symlinks": run_event("COMPLETE", outputs=[dataset("t", symlinks=symlinks("t", namespace="hive://u:SECRETXX@h"))]),
    "columns": run_event(
        "COMPLETE", inputs=[dataset("a", "pg://u:SECRETXX@h")],
        outputs=[dataset("t", columnLineage=columns({"k": [field("a", "k", namespace="pg://u:SECRETXX@h")]}))],
    ),
    "parent": run_event("COMPLETE", run_facets={"parent": parent(2, "p", namespace="spark://u:SECRETXX@h")}),
    "data source": run_event(
        "COMPLETE", outputs=[dataset("t", dataSource=facet(name="x", uri="jdbc:postgresql://u:SECRETXX@h/d"))]
    ),
    "hadoop key": spark_event(**{"spark.hadoop.fs.s3a.secret.key": SECRET, "spark.hadoop.fs.s3a.access.key": SECRET}),
    "azure key": spark_event(**{"fs.azure.account.key.x.dfs.core.windows.net": SECRET}),
    "upper case": spark_event(**{"DB_PASSWORD": SECRET, "apiKey": SECRET, "clientSecret": SECRET, "x.pwd": SECRET}),
    "nested": spark_event(options={"auth": [{"token": SECRET}, {"credentials": [SECRET, SECRET]}]}),
    "pair": spark_event(environment=[{"name": "DB_PASSWORD", "value": SECRET}, {"key": "api-key", "value": SECRET}]),
    "java options": spark_event(x="-Djavax.net.ssl.trustStorePassword=SECRETXX -Da=b"),
    "connection string": spark_event(x="AccountName=a;AccountKey=SECRETXX==;EndpointSuffix=b"),
    "identified": sql_event("CREATE USER u IDENTIFIED BY 'SECRETXX'"),
    "identified as": sql_event("alter user u identified with sha256_password by \"SECRETXX\" replace 'SECRETXX'"),
    "sql password": sql_event("CREATE USER u WITH PASSWORD 'SECRETXX'; SELECT 1"),
    "sql options": sql_event("CREATE TABLE t USING jdbc OPTIONS (url 'jdbc:x://h', password 'SECRETXX', dbtable 'a')"),
    "sql credentials": sql_event("COPY INTO t FROM 's3://b' CREDENTIALS=(AWS_KEY_ID='a' AWS_SECRET_KEY='SECRETXX')"),
    "sql url": sql_event("SELECT * FROM jdbc('jdbc:mysql://u:SECRETXX@h/d?password=SECRETXX')"),
    "error": error_event("could not connect: host=h user=u password=SECRETXX dbname=d"),
    "error url": error_event("psycopg2: postgresql://u:SECRETXX@h/d is not available"),
    "error json": error_event('request failed: {"client_secret": "SECRETXX", "a": 1}'),
    "error colon": error_event("login failed, password: SECRETXX"),
    "bearer": error_event("401 for Authorization: Bearer SECRETXX0123456789"),
    "signature": error_event("GET https://a.blob.core.windows.net/c/b?sv=1&sig=SECRETXX%3D&token=SECRETXX failed"),
    "unknown member": named("t", "db") | {"password": SECRET, "extra": {"secret": SECRET}},
    "unknown member of a dataset": run_event("COMPLETE", outputs=[dataset("t") | {"password": SECRET}]),
    "dataset facet that is no object": run_event("COMPLETE", outputs=[dataset("t", password=SECRET)]),  # type: ignore[arg-type]
    "unknown member of a job": run_event("COMPLETE", outputs=[dataset("t")]) | {"job": {"namespace": "a", "name": "b", "token": SECRET}},
    "job and dataset": named("t", "db") | {"dataset": {"namespace": "a", "name": "b", "token": SECRET}},
    "run id": run_event("COMPLETE", outputs=[dataset("t")]) | {"run": {"runId": "token=SECRETXX", "facets": {}}},
    "facet that is no object": run_event("COMPLETE", outputs=[dataset("t")], run_facets={"password": SECRET}),  # type: ignore[dict-item]
    "unknown time": named("t", "db") | {"eventTime": "password=SECRETXX"},
    "facet of another type": run_event("COMPLETE", outputs=[dataset("t", schema=facet(fields="password=SECRETXX"))]),
}  # fmt: skip


def stored_bytes(store: Store) -> bytes:
    """Return everything that a store contains, unpacked."""
    contents = [store.export()]
    for table in ("run_event", "rejected_event", "ol_facet", "intake_ledger", "search_entry"):
        if table in {name for (name,) in store.rows("SELECT name FROM sqlite_master")}:
            for row in store.rows(f"SELECT * FROM {table}"):
                contents += [
                    zstandard.decompress(v)
                    if isinstance(v, bytes) and v[:4] == b"\x28\xb5\x2f\xfd"
                    else repr(v).encode()
                    for v in row
                ]
    return b"\n".join(contents)


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_secrets_are_not_stored(sqlite_store: Store, event: Json) -> None:
    item = sqlite_store.read(event)
    sqlite_store.writer.write([item])
    assert SECRET not in repr(item)
    assert SECRET.encode() not in stored_bytes(sqlite_store)


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_event_and_redacted_event_are_one_event(sqlite_store: Store, event: Json) -> None:
    item = sqlite_store.read(event)
    assert item.payload is not None
    again = sqlite_store.read(item.payload)
    assert again.payload == item.payload
    if isinstance(item, IncomingEvent) and isinstance(again, IncomingEvent):
        assert again.event.event_hash == item.event.event_hash
        assert again.rows == item.rows
    else:
        assert isinstance(again, RejectedInput)
        assert again.payload_hash == item.payload_hash  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "redacted"),
    [
        ("postgres://u:PW@db:5432", "postgres://db:5432"),
        ("postgres://u:P%40W@db/x", "postgres://db/x"),
        ("jdbc:sqlserver://h;user=u;password=PW;database=d", "jdbc:sqlserver://h;database=d"),
        ("jdbc:mysql://h/d?user=u&password=PW", "jdbc:mysql://h/d"),
        ("jdbc:oracle:thin:scott/PW@//db:1521/shop", "jdbc:oracle:thin:@//db:1521/shop"),
        ("abfss://container@account.dfs.core.windows.net", "abfss://container@account.dfs.core.windows.net"),
        ("postgres://u@db", "postgres://u@db"),
        ("jdbc:sqlserver://h;user=u;database=d", "jdbc:sqlserver://h;user=u;database=d"),
        ("s3://bucket/a@b:c", "s3://bucket/a@b:c"),
        ("arn:aws:glue:eu:1:table/x", "arn:aws:glue:eu:1:table/x"),
        ("ann@example.com:tokens", "ann@example.com:tokens"),
    ],
)
def test_names_lose_credentials_only(name: str, redacted: str) -> None:
    assert redact_name(name) == redacted


def test_name_with_credentials_is_the_same_dataset(sqlite_store: Store) -> None:
    sqlite_store.apply(
        named("t", "postgres://u:SECRETXX@db:5432"),
        named("t", "postgres://db:5432") | {"eventTime": "2026-01-02T00:00:00Z"},
    )
    assert sqlite_store.value("SELECT count(*) FROM ol_dataset WHERE name = 't'") == 1


UNCHANGED = (
    sql_event("SELECT a.token, t.password FROM a JOIN t ON a.token = t.token WHERE t.api_key=a.api_key AND pass IS NULL"),
    sql_event("SELECT passport, passenger_key AS key FROM tokens -- https://h/x?a=1"),
    run_event("COMPLETE", outputs=[dataset("t", schema=schema("password", "api_key", token="the token of a user"))]),
    run_event("COMPLETE", inputs=[dataset("a")], outputs=[dataset("t", columnLineage=columns({"password": [field("a", "secret")]}))]),
    run_event("COMPLETE", outputs=[dataset("password_reset_tokens")], job="rotate_secrets"),
    spark_event(**{"spark.ui.token.count": "3", "hasPassword": "true", "x.password": "", "y.secret": "*********(redacted)", "passed": "yes"}),
    error_event("Syntax error near token: FROM; missing key: value not found; mail ann@example.com at 10:30"),
    error_event("abfss://container@account.dfs.core.windows.net/a:b is not a directory"),
)  # fmt: skip


@pytest.mark.parametrize("event", UNCHANGED, ids=range(len(UNCHANGED)))
def test_events_without_secrets_are_unchanged(event: Json) -> None:
    body = as_bytes(event)
    assert redact_event(body) is body


def recorded_bodies() -> Iterator[bytes]:
    folder = Path(__file__).parents[1] / "data" / "events"
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".gz":
            yield from gzip.decompress(path.read_bytes()).splitlines()
        elif path.suffix in {".ndjson", ".jsonl"}:
            yield from path.read_bytes().splitlines()
        elif path.suffix == ".json":
            yield path.read_bytes()


def test_recorded_events_are_unchanged() -> None:
    bodies = list(recorded_bodies())
    assert len(bodies) > 100
    for body in bodies:
        assert redact_event(body) is body
        if body.startswith(b'{"event') or b'"eventTime"' in body[:200]:
            assert parse_event(body, NO_LIMITS) == parse_unredacted_event(body, NO_LIMITS)


REJECTED = (
    b'{"password": "SECRETXX", "eventTime": ',
    b'{"eventTime": "x", "password": "SECRETXX"}',
    b"password=SECRETXX",
    b'["postgres://u:SECRETXX@h"]',
    b"\xff\xfe Authorization: Bearer SECRETXX0123456789",
    b'{"a": "\xff", "client_secret": "SECRETXX"}',
    b"\xef\xbb\xbf" + as_bytes(EVENTS["namespace"]).replace(b"eventTime", b"eventtime"),
    b"[" * 5_000 + b'{"password": "SECRETXX"}',
)


@pytest.mark.parametrize("body", REJECTED, ids=range(len(REJECTED)))
def test_rejected_inputs_are_redacted(sqlite_store: Store, body: bytes) -> None:
    item = sqlite_store.read(body)
    assert isinstance(item, RejectedInput)
    sqlite_store.writer.write([item])
    assert SECRET.encode() not in stored_bytes(sqlite_store)
    assert sqlite_store.read(item.payload or b"").payload == item.payload


def test_rejected_input_without_secrets_keeps_its_bytes(sqlite_store: Store) -> None:
    body = b'{"eventTime":  "x", "job": {"name": "\xff key"}}'
    assert sqlite_store.read(body).payload == body


@pytest.mark.parametrize("case", TARGETS, ids=lambda case: case.name)
def test_secrets_are_not_sent_to_targets(case: Any) -> None:
    with case() as target:
        target.apply(*(event for name, event in EVENTS.items() if name not in {"unknown time", "run id"})).converge()
        assert SECRET not in repr(target.target_state())


def test_escaped_slashes_do_not_hide_secrets() -> None:
    assert SECRET.encode() not in redact_event(as_bytes(EVENTS["namespace"]).replace(b"/", b"\\/"))


def test_deep_documents_are_redacted() -> None:
    depth = 300
    body = b'{"a":' * depth + b'{"password":"SECRETXX"}' + b"}" * depth
    assert SECRET.encode() not in redact_event(body)


def test_text_is_redacted_once() -> None:
    for event in EVENTS.values():
        text = json.dumps(event)
        assert redact_text(redact_text(text)) == redact_text(text)
    assert not may_contain_secrets(msgspec.json.encode(named("t", "db")))


def store_with_secrets(store: Store, monkeypatch: pytest.MonkeyPatch, events: list[Json]) -> None:
    """Write events as a version without redaction did."""
    with monkeypatch.context() as patch:
        patch.setattr(event_module, "redact_event", lambda body: body)
        patch.setattr(event_reader, "redact_input", lambda body: body)
        patch.setattr(event_reader, "redact_text", lambda text: text)
        for event in events:
            store.writer.write([store.read(event)])
            store.writer.write([store.read(event)])
        store.writer.write([store.read(body) for body in REJECTED[:3]])


def redaction(store: Store) -> StoreRedaction:
    return StoreRedaction(store.db, store.org, store.reader, Writer(store.db, store.org))


def test_existing_store_is_redacted(store: Store, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A redacted store equals a store that received the redacted events; redacting again changes nothing."""
    clean = named("t", "postgres://db:5432") | {"eventTime": "2026-01-02T00:00:00Z"}
    same = json.loads(redact_event(as_bytes(EVENTS["namespace"])))
    events = [*EVENTS.values(), clean, same]
    store_with_secrets(store, monkeypatch, events)
    exported = b"".join(export_events(store.db, store.org))
    assert SECRET.encode() in exported
    ledger = store.rows("SELECT sum(events), sum(rejected) FROM intake_ledger")
    receipts = store.value("SELECT sum(receipts) FROM run_event")
    counted = redaction(store).count()
    assert counted.rejected == 4
    assert b"".join(export_events(store.db, store.org)) == exported
    assert redaction(store).run() == counted
    assert redaction(store).run() == (0, 0)
    assert SECRET.encode() not in b"".join(export_events(store.db, store.org)) + store.export()
    assert store.rows("SELECT sum(events), sum(rejected) FROM intake_ledger") == ledger
    assert store.value("SELECT sum(receipts) FROM run_event") == receipts
    with Store() as fresh:
        for event in events:
            fresh.writer.write([fresh.read(event)])
        assert store.export() == fresh.export()


def test_interrupted_redaction_changes_nothing(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store_with_secrets(sqlite_store, monkeypatch, [*EVENTS.values()])
    before = sqlite_store.export(), b"".join(export_events(sqlite_store.db, sqlite_store.org))
    with monkeypatch.context() as patch:
        patch.setattr(Writer, "merge_again", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            redaction(sqlite_store).run()
    assert (sqlite_store.export(), b"".join(export_events(sqlite_store.db, sqlite_store.org))) == before


def test_export_of_an_unredacted_store_is_redacted_by_the_import(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_with_secrets(sqlite_store, monkeypatch, [EVENTS["namespace"], EVENTS["hadoop key"]])
    exported = b"".join(export_events(sqlite_store.db, sqlite_store.org))
    with Store() as other:
        for _ in range(2):
            importer = EventImporter(other.reader, other.writer, other.db, other.org)
            report = importer.run(io.BytesIO(exported), pytest.fail)
        assert report.known == 5
        assert SECRET.encode() not in stored_bytes(other)


def test_redact_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(event_module, "redact_event", lambda body: body)
        url = create_store(tmp_path, EVENTS["namespace"], EVENTS["identified"])
    file = Path(url.removeprefix("sqlite:///"))
    env = {"LINEAGE_BRIDGE__STORE__URL": url}
    run = CliRunner(env=env).invoke
    assert run(app, ["redact"]).exit_code == 2
    assert (
        run(app, ["redact", "--existing", "--dry-run"]).stdout == "found secrets in 2 events and 0 rejected inputs\n"
    )
    assert run(app, ["redact", "--existing"]).stdout == "redacted 2 events and 0 rejected inputs\n"
    assert run(app, ["redact", "--existing"]).stdout == "redacted 0 events and 0 rejected inputs\n"
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in tmp_path.glob(f"{file.name}*"))
    assert "postgres://db:5432 t" in run(app, ["search", "t"]).stdout


@pytest.mark.parametrize("path", ["/lineage", "/lineage/batch", "/openlineage/lineage", "/openlineage/lineage/batch"])
def test_secrets_are_not_answered(tmp_path: Path, path: str) -> None:
    """Accepted events, rejected events and unreadable bodies, over every route for events."""
    with RunningService(settings_for(tmp_path)) as service:
        for event in EVENTS.values():
            body = as_bytes(event)
            service.post(b"[" + body + b"]" if path == "/lineage/batch" else body, path=f"/api/v1{path}")
        for body in REJECTED:
            assert SECRET not in service.post(body, path=f"/api/v1{path}").text
        for query in ("events?limit=500", "runs?limit=500", "search?q=t", "namespaces"):
            response = service.get(f"/api/v1/{query}")
            assert response.status_code == 200
            assert SECRET not in response.text
    env = {"LINEAGE_BRIDGE__STORE__URL": service.settings.store.url}
    for command in ("export --events", "export --canonical", "rejected list", "events", "rejected retry"):
        result = CliRunner(env=env).invoke(app, command.split())
        assert SECRET not in result.output
    assert SECRET.encode() not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_secrets_in_files_are_not_stored(tmp_path: Path) -> None:
    (tmp_path / "events.ndjson").write_bytes(b"\n".join([*map(as_bytes, EVENTS.values()), *REJECTED]) + b"\n")
    (tmp_path / "store").mkdir()
    env = {"LINEAGE_BRIDGE__STORE__URL": create_store(tmp_path / "store")}
    result = CliRunner(env=env).invoke(app, ["ingest", str(tmp_path / "events.ndjson")])
    assert SECRET not in result.output
    assert result.stdout.startswith("ingested 3")
    exported = CliRunner(env=env).invoke(app, ["export", "--events"]).stdout
    assert SECRET not in exported
    assert exported.count("***") > 20

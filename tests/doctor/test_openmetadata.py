"""`openmetadata check`: every way in which the way into OpenMetadata can be closed, and what to do about it."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bridge.cli.main import app
from bridge.doctor.finding import Level
from bridge.doctor.openmetadata import server
from bridge.doctor.openmetadata.runner import check_openmetadata
from bridge.settings.openmetadata import OpenMetadataSettings
from connectors.errors import NoResponse, TargetMisconfigured, TargetRejected, TargetUnavailable, Unreachable
from tests.standins.openmetadata import Fault, OpenMetadata, error, html, reset

CHECKED = ["settings", "server", "version", "clock", "token", "user", "rights", "services"]
PATIENCE = {"max_attempts": 1}


@pytest.fixture
def standin() -> Iterator[OpenMetadata]:
    with OpenMetadata() as running:
        yield running


def settings(host: str, token: str | None = None, **more: Any) -> OpenMetadataSettings:
    auth = {"jwt_token": token or "t"}
    given = {"enabled": True, "server": {"host": host}, "auth": auth, "retry_config": PATIENCE} | more
    return OpenMetadataSettings.model_validate(given)


def found(of: OpenMetadataSettings, thing: str | None = None) -> list[str]:
    told = [one for one in check_openmetadata(of) if thing in (None, one.subject)]
    assert all(one.remedy for one in told if one.level is not Level.ok)
    return [str(one) for one in told]


def test_when_all_is_well_everything_was_looked_at_and_nothing_written(standin: OpenMetadata) -> None:
    told = [*check_openmetadata(settings(standin.url, standin.bot_token))]
    assert [(one.level, one.subject) for one in told] == [(Level.ok, thing) for thing in CHECKED]
    assert [one.message for one in told if one.subject == "user"] == ["ingestion-bot, a bot"]
    assert {seen.method for seen in standin.requests} == {"GET"}
    assert standin.state()["entities"] == {}


@pytest.mark.parametrize(
    ("token", "said", "remedy"),
    [
        ("expired", "401 Expired token!", "create a new token for the bot (Settings, Bots)"),
        ("invalid", "401 Not Authorized! Invalid token.", "copy the complete token of a bot of this server"),
        ("a.b.c", "401 Not Authorized! Invalid token. Token verification failed", "copy the complete token"),
        ("a b", "the token holds spaces", "copy it again, on one line"),
    ],
)
def test_a_token_that_is_not_taken_is_told(standin: OpenMetadata, token: str, said: str, remedy: str) -> None:
    known = {"expired": standin.expired_token, "invalid": standin.invalid_token}
    of = settings(standin.url, known.get(token, token))
    (told,) = found(of, "token")
    assert told.startswith("error: token: ")
    assert said in told
    assert remedy in told
    assert found(of, "rights") == [
        "warning: rights: not checked: the server did not accept the token: fix that first, then run the checks again"
    ]


@pytest.mark.parametrize(
    ("fault", "said", "remedy"),
    [
        (
            error(401, "Not Authorized! Token not present"),
            "Token not present",
            "pass the Authorization header through",
        ),
        (
            error(401, "something else"),
            "something else",
            "check that it is a token of this server (see docs/guides/openmetadata.md)",
        ),
        (error(500, "broken"), "500 broken", "check its log"),
        (reset(), "does not answer", "check its log"),
        (html(), "where JSON was expected", "set openmetadata.server.host to OpenMetadata itself"),
        (error(403, "no"), "403 no", "check that it is a token of this server"),
    ],
)
def test_a_server_that_does_not_say_who_one_is_is_told(
    standin: OpenMetadata, fault: Fault, said: str, remedy: str
) -> None:
    standin.faults.next(fault, path="/users/loggedInUser")
    (told,) = found(settings(standin.url, standin.bot_token), "token")
    assert told.startswith("error: token: ")
    assert said in told
    assert remedy in told


@pytest.mark.parametrize(
    ("auth", "said", "remedy"),
    [
        ({"type": "basic", "username": "admin@open-metadata.org", "password": "admin"}, "ok: token", None),
        ({"type": "basic", "username": "admin@open-metadata.org", "password": "hunter2"},
         "error: token: the login at HOST answers 401", "password (not for single sign-on)"),
        ({"type": "oauth", "token_url": "HOST/api/v1/none", "client_id": "me", "client_secret": "hunter2"},
         "error: token: the token URL at HOST/api/v1/none answers 404", "correct openmetadata.auth.token_url"),
        ({"type": "oauth", "token_url": "http://127.0.0.1:1/", "client_id": "me", "client_secret": "hunter2"},
         "error: token: http://127.0.0.1:1 does not answer", "check openmetadata.auth.token_url"),
        ({"token_file": "absent/token"}, "error: token: cannot read the token in absent/token", "readable for the user"),
    ],
)  # fmt: skip
def test_each_way_to_a_token_is_told(
    standin: OpenMetadata, auth: dict[str, str], said: str, remedy: str | None
) -> None:
    given = {key: value.replace("HOST", standin.url) for key, value in auth.items()}
    (told,) = found(settings(standin.url, auth=given), "token")
    assert told.startswith(said.replace("HOST", standin.url))
    assert remedy is None or remedy in told
    assert "hunter2" not in told


def test_a_token_file_is_read(standin: OpenMetadata, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{standin.bot_token}\n")
    assert found(settings(standin.url, auth={"token_file": str(tmp_path / "token")}), "token")[0].startswith("ok")


@pytest.mark.parametrize(
    ("who", "said"), [("admin", "admin is an admin, not a bot"), ("reader", "reader is a person, not a bot")]
)
def test_a_token_of_a_person_is_warned_of(standin: OpenMetadata, who: str, said: str) -> None:
    token = {"admin": standin.admin_token, "reader": standin.reader_token}[who]
    (told,) = found(settings(standin.url, token), "user")
    assert told.startswith(f"warning: user: {said}")
    assert told.endswith("use the token of a bot (see docs/guides/openmetadata.md)")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "missing: Create of databaseService and database and databaseSchema and table and pipelineService and"),
        ({}, ", EditAll of database and databaseSchema and table and pipeline, EditLineage of lineage: give the bot"),
        ({"create": "entities"}, "missing: Create of database and databaseSchema and table and pipeline, EditAll"),
        ({"create": "nothing", "sync": {"track_lineage": False}},
         "missing: EditAll of database and databaseSchema and table and pipeline: give the bot a role"),
    ],
)  # fmt: skip
def test_rights_that_are_missing_are_told(standin: OpenMetadata, more: dict[str, Any], said: str) -> None:
    error_, *warnings = found(settings(standin.url, standin.reader_token, **more), "rights")
    assert error_.startswith("error: rights: ")
    assert said in error_
    assert [one.startswith("warning: rights: missing") for one in warnings] == [True, True]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            error(403, "no"),
            "warning: rights: unknown: the server does not report the user's permissions (",
        ),
        (error(404), "warning: rights: unknown: the server does not report the user's permissions"),
        (
            Fault(status=200, body={"data": []}),
            "warning: rights: unknown: the server does not report the user's permissions",
        ),
        (html(), "error: rights: check failed: "),
    ],
)
def test_rights_that_the_server_does_not_tell_are_not_tried(standin: OpenMetadata, fault: Fault, said: str) -> None:
    standin.faults.next(fault, path="/permissions")
    (told,) = found(settings(standin.url, standin.bot_token), "rights")
    assert told.startswith(said)


def test_rights_that_depend_on_the_entity_are_warned_of(standin: OpenMetadata) -> None:
    kinds = ("databaseService", "database", "databaseSchema", "table", "pipelineService", "pipeline")
    rows = [
        {"operation": one, "access": "allow"} for one in ("ViewAll", "Create", "Delete", "EditAll", "EditLineage")
    ]
    data = [{"resource": kind, "permissions": rows} for kind in kinds]
    data[3] = {"resource": "table", "permissions": [*rows, {"operation": "EditAll", "access": "conditionalAllow"}]}
    standin.faults.next(Fault(status=200, body={"data": data}), path="/permissions")
    (told,) = found(settings(standin.url, standin.bot_token), "rights")
    assert told.startswith("warning: rights: depends on the entity: EditAll of table: check the conditions")


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("2.0.3", "ok: version: 2.0.3, which lineage-bridge is tested with"),
        (
            "2.1.0",
            "warning: version: 2.1.0 is supported, but lineage-bridge is tested with 2.0: check the synced entities",
        ),
        (
            "1.13.4",
            "warning: version: 1.13.4 is supported, but lineage-bridge is tested with 2.0; edges are written by",
        ),
        (
            "1.10.9",
            "tested with 2.0; entities are sent individually, not in bulk; run statuses are sent individually",
        ),
        ("1.9.9", "run statuses lack inputs, outputs and errors"),
        (
            "1.8.2",
            "error: version: 1.8.2 is older than 1.9, the oldest known version: upgrade OpenMetadata, preferably to 2.0",
        ),
        (
            "",
            "error: version: the server does not report a version, but '': set openmetadata.server.host to OpenMetadata itself",
        ),
    ],
)
def test_what_a_version_lacks_is_told(version: str, said: str) -> None:
    assert said in str(server.check_version(version))


def test_an_older_server_is_warned_of(standin: OpenMetadata) -> None:
    standin.app.version = "1.10.9"
    (told,) = found(settings(standin.url, standin.bot_token), "version")
    assert told.startswith("warning: version: 1.10.9")


@pytest.mark.parametrize(
    ("fault", "said", "remedy"),
    [
        (html(), "where JSON was expected", "set openmetadata.server.host to OpenMetadata itself"),
        (html(404), "404 ", "set openmetadata.server.host to OpenMetadata itself"),
        (error(503), "503", "wait until it is up"),
        (reset(), "does not answer", "the host may need https://"),
        (
            Fault(status=200, body={"status": "up"}),
            "does not report a version",
            "set openmetadata.server.host to OpenMetadata itself",
        ),
    ],
)
def test_something_else_in_the_place_of_the_server_is_told(
    standin: OpenMetadata, fault: Fault, said: str, remedy: str
) -> None:
    standin.faults.next(fault, path="/system/version")
    told = [one for one in found(settings(standin.url, standin.bot_token)) if one.startswith("error")]
    assert len(told) == 1
    assert said in told[0]
    assert remedy in told[0]


def test_a_dead_port_is_told_and_nothing_else_asked() -> None:
    with socket.socket() as taken:  # bound, and not listening
        taken.bind(("127.0.0.1", 0))
        _, dead, *rest = found(settings(f"http://127.0.0.1:{taken.getsockname()[1]}"))
    assert dead.startswith("error: server: http://127.0.0.1:")
    assert dead.endswith(
        "check openmetadata.server.host, that the server is up, and that this machine can reach its port"
    )
    assert [one.split(": ")[:3] for one in rest] == [["warning", thing, "not checked"] for thing in CHECKED[2:]]


def test_tls_where_there_is_none_is_told(standin: OpenMetadata) -> None:
    (told,) = found(settings(standin.url.replace("http:", "https:")), "server")
    assert told.endswith("the port does not use TLS: try http:// in openmetadata.server.host")


@pytest.mark.parametrize(
    ("raised", "remedy"),
    [
        (Unreachable("x: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"), "set SSL_CERT_FILE"),
        (Unreachable("x: timed out"), "check openmetadata.server.host"),
        (NoResponse("x: timed out"), "it may be overloaded"),
        (TargetUnavailable("x: 502", 502), "wait until it is up"),
        (TargetMisconfigured("x"), "set openmetadata.server.host to OpenMetadata itself"),
        (TargetRejected("x", 404), "set openmetadata.server.host to OpenMetadata itself"),
    ],
)
def test_what_to_do_about_a_server_that_is_away(raised: Exception, remedy: str) -> None:
    told = server.unreachable(raised)
    assert (told.level, told.message) == (Level.error, str(raised))
    assert remedy in (told.remedy or "")


NOON = "Wed, 18 Nov 2026 12:00:00 GMT"
NOON_SECONDS = 1_795_003_200.0


@pytest.mark.parametrize(
    ("date", "now", "said"),
    [
        (NOON, NOON_SECONDS + 60, "ok: clock: this machine's clock agrees"),
        (NOON, NOON_SECONDS + 61, "warning: clock: the clocks of this machine and the server differ by 61 s"),
        (NOON, NOON_SECONDS - 3_600, "warning: clock: the clocks of this machine and the server differ by 3,600 s"),
        (None, NOON_SECONDS, "ok: clock: the server does not send the time"),
        ("noon", NOON_SECONDS, "ok: clock: the server does not send the time"),
    ],
)
def test_clocks_that_differ_are_told(date: str | None, now: float, said: str) -> None:
    (told,) = server.check_clock(date, now)
    assert str(told).startswith(said)


MAPPINGS = [
    {"namespace": "postgres://*", "service": "warehouse.eu"},
    {"namespace": "kafka://*", "service": "events"},
    {"namespace": "*", "service": "rest"},
]


@pytest.mark.parametrize(
    ("create", "level", "said"),
    [("all", "ok", "does not exist; it is created with its first entity"),
     ("entities", "error", "does not exist, and openmetadata.create is entities: create it in OpenMetadata"),
     ("nothing", "error", "does not exist, and openmetadata.create is nothing: create it in OpenMetadata")],
)  # fmt: skip
def test_services_are_looked_up(standin: OpenMetadata, create: str, level: str, said: str) -> None:
    from connectors.http import HttpSession
    from connectors.openmetadata.auth import StaticToken
    from connectors.openmetadata.client import OpenMetadataClient as Client

    client = Client(HttpSession(standin.url), StaticToken(standin.bot_token))
    client.put("services/databaseServices", {"name": "warehouse.eu", "serviceType": "Postgres"})
    client.close()
    told = found(settings(standin.url, standin.bot_token, mappings=MAPPINGS, create=create), "services")
    assert told[0] == "ok: services: warehouse.eu (databaseService, Postgres) exists"
    names = [
        "events (messagingService, Kafka)",
        "rest (databaseService, CustomDatabase)",
        "lineage_bridge (databaseS",
    ]
    for one, name in zip(told[1:], names, strict=True):
        assert one.startswith(f"{level}: services: {name}")
        assert said in one


def test_what_is_missing_before_it_is_enabled_is_told() -> None:
    told = found(OpenMetadataSettings(), "settings")
    assert [one.split(" ")[2] for one in told] == [
        "openmetadata.server.host", "openmetadata.auth.jwt_token", "openmetadata.enabled",
    ]  # fmt: skip


def test_one_can_check_before_one_enables(standin: OpenMetadata) -> None:
    first, *rest = found(settings(standin.url, standin.bot_token, enabled=False))
    assert first.startswith("warning: settings: openmetadata.enabled is false")
    assert all(one.startswith("ok") for one in rest)


@pytest.mark.parametrize(("token", "code", "level"), [("bot", 0, "ok"), ("admin", 0, "warning"), ("no", 1, "error")])
def test_the_command_ends_as_the_worst_finding_says(standin: OpenMetadata, token: str, code: int, level: str) -> None:
    done = check(
        standin, {"bot": standin.bot_token, "admin": standin.admin_token}.get(token, token), "--output", "json"
    )
    assert (done.exit_code, done.stderr) == (code, "")
    told = json.loads(done.stdout)
    assert told["level"] == level
    assert [finding["thing"] for finding in told["findings"]] == CHECKED
    text = check(standin, {"bot": standin.bot_token, "admin": standin.admin_token}.get(token, token))
    assert (text.exit_code, len(text.stdout.splitlines())) == (code, len(CHECKED))


def check(standin: OpenMetadata, token: str, *words: str) -> Any:
    given = {
        "ENABLED": "true",
        "SERVER__HOST": standin.url,
        "AUTH__JWT_TOKEN": token,
        "RETRY_CONFIG__MAX_ATTEMPTS": "1",
    }
    environment = {f"LINEAGE_BRIDGE__OPENMETADATA__{name}": value for name, value in given.items()}
    return CliRunner(env=environment).invoke(app, ["openmetadata", "check", *words], catch_exceptions=False)


def test_a_configuration_that_is_refused_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "openmetadata.yaml"
    path.write_text("openmetadata:\n  enabled: true\n  auth: {jwt_token: x}\n")
    done = CliRunner().invoke(app, ["openmetadata", "check", "-c", str(path)], catch_exceptions=False)
    assert done.exit_code == 1
    assert done.stdout.startswith(f"error: config: {path}:1: openmetadata.server.host: is not set")

"""`openmetadata check`: problems of the connection to OpenMetadata, and their remedies."""

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

SUBJECTS = ["settings", "server", "version", "clock", "token", "user", "rights", "services"]
ONE_ATTEMPT = {"max_attempts": 1}


@pytest.fixture
def standin() -> Iterator[OpenMetadata]:
    with OpenMetadata() as running:
        yield running


def settings(host: str, token: str | None = None, **overrides: Any) -> OpenMetadataSettings:
    auth = {"jwt_token": token or "t"}
    values = {"enabled": True, "server": {"host": host}, "auth": auth, "retry_config": ONE_ATTEMPT} | overrides
    return OpenMetadataSettings.model_validate(values)


def run_checks(target_settings: OpenMetadataSettings, subject: str | None = None) -> list[str]:
    findings = [finding for finding in check_openmetadata(target_settings) if subject in (None, finding.subject)]
    assert all(finding.remedy for finding in findings if finding.level is not Level.ok)
    return [str(finding) for finding in findings]


def test_checks_pass_and_write_nothing(standin: OpenMetadata) -> None:
    findings = [*check_openmetadata(settings(standin.url, standin.bot_token))]
    assert [(finding.level, finding.subject) for finding in findings] == [(Level.ok, subject) for subject in SUBJECTS]
    assert [finding.message for finding in findings if finding.subject == "user"] == ["ingestion-bot, a bot"]
    assert {request.method for request in standin.requests} == {"GET"}
    assert standin.state()["entities"] == {}


@pytest.mark.parametrize(
    ("token", "message", "remedy"),
    [
        ("expired", "401 Expired token!", "create a new token for the bot (Settings, Bots)"),
        ("invalid", "401 Not Authorized! Invalid token.", "copy the complete token of a bot of this server"),
        ("a.b.c", "401 Not Authorized! Invalid token. Token verification failed", "copy the complete token"),
        ("a b", "the token contains spaces", "copy it again, on one line"),
        ("eyJhbGciOiJSUzI1NiJ9.e30.x", "the server cannot process the token", "copy the complete token of a bot"),
    ],
)
def test_rejected_token_is_reported(standin: OpenMetadata, token: str, message: str, remedy: str) -> None:
    tokens = {"expired": standin.expired_token, "invalid": standin.invalid_token}
    target_settings = settings(standin.url, tokens.get(token, token))
    (line,) = run_checks(target_settings, "token")
    assert line.startswith("error: token: ")
    assert message in line
    assert remedy in line
    assert run_checks(target_settings, "rights") == [
        "warning: rights: not checked: the server did not accept the token: fix that first, then run the checks again"
    ]


@pytest.mark.parametrize(
    ("fault", "message", "remedy"),
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
        (reset(), "does not respond", "check its log"),
        (html(), "instead of the documented JSON", "set openmetadata.server.host to OpenMetadata itself"),
        (error(403, "no"), "403 no", "check that it is a token of this server"),
    ],
)
def test_failed_user_request_is_reported(standin: OpenMetadata, fault: Fault, message: str, remedy: str) -> None:
    standin.faults.next(fault, path="/users/loggedInUser")
    (line,) = run_checks(settings(standin.url, standin.bot_token), "token")
    assert line.startswith("error: token: ")
    assert message in line
    assert remedy in line


@pytest.mark.parametrize(
    ("auth", "message", "remedy"),
    [
        ({"type": "basic", "username": "admin@open-metadata.org", "password": "admin"}, "ok: token", None),
        ({"type": "basic", "username": "admin@open-metadata.org", "password": "hunter2"},
         "error: token: the login at HOST responded with 401", "password (not for single sign-on)"),
        ({"type": "oauth", "token_url": "HOST/api/v1/none", "client_id": "me", "client_secret": "hunter2"},
         "error: token: the token URL at HOST/api/v1/none responded with 404", "correct openmetadata.auth.token_url"),
        ({"type": "oauth", "token_url": "http://127.0.0.1:1/", "client_id": "me", "client_secret": "hunter2"},
         "error: token: http://127.0.0.1:1 does not respond", "check openmetadata.auth.token_url"),
        ({"token_file": "absent/token"}, "error: token: cannot read the token in absent/token", "readable for the user"),
    ],
)  # fmt: skip
def test_login_errors_are_reported(
    standin: OpenMetadata, auth: dict[str, str], message: str, remedy: str | None
) -> None:
    auth_settings = {key: value.replace("HOST", standin.url) for key, value in auth.items()}
    (line,) = run_checks(settings(standin.url, auth=auth_settings), "token")
    assert line.startswith(message.replace("HOST", standin.url))
    assert remedy is None or remedy in line
    assert "hunter2" not in line


def test_token_file_is_read(standin: OpenMetadata, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{standin.bot_token}\n")
    assert run_checks(settings(standin.url, auth={"token_file": str(tmp_path / "token")}), "token")[0].startswith(
        "ok"
    )


@pytest.mark.parametrize(
    ("user", "message"), [("admin", "admin is an admin, not a bot"), ("reader", "reader is a person, not a bot")]
)
def test_token_of_person_is_a_warning(standin: OpenMetadata, user: str, message: str) -> None:
    token = {"admin": standin.admin_token, "reader": standin.reader_token}[user]
    (line,) = run_checks(settings(standin.url, token), "user")
    assert line.startswith(f"warning: user: {message}")
    assert line.endswith("use the token of a bot (see docs/guides/openmetadata.md)")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({}, "missing: Create of databaseService and database and databaseSchema and table and pipelineService and"),
        ({}, ", EditAll of database and databaseSchema and table and pipeline, EditLineage of lineage: give the bot"),
        ({"create": "entities"}, "missing: Create of database and databaseSchema and table and pipeline, EditAll"),
        ({"create": "nothing", "sync": {"track_lineage": False}},
         "missing: EditAll of database and databaseSchema and table and pipeline: give the bot a role"),
    ],
)  # fmt: skip
def test_missing_permissions_are_reported(standin: OpenMetadata, overrides: dict[str, Any], message: str) -> None:
    error_, *warnings = run_checks(settings(standin.url, standin.reader_token, **overrides), "rights")
    assert error_.startswith("error: rights: ")
    assert message in error_
    assert [line.startswith("warning: rights: missing") for line in warnings] == [True, True]


@pytest.mark.parametrize(
    ("fault", "message"),
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
def test_unreported_permissions_are_a_warning(standin: OpenMetadata, fault: Fault, message: str) -> None:
    standin.faults.next(fault, path="/permissions")
    (line,) = run_checks(settings(standin.url, standin.bot_token), "rights")
    assert line.startswith(message)


def test_conditional_permissions_are_a_warning(standin: OpenMetadata) -> None:
    kinds = ("databaseService", "database", "databaseSchema", "table", "pipelineService", "pipeline")
    rows = [
        {"operation": operation, "access": "allow"}
        for operation in ("ViewAll", "Create", "Delete", "EditAll", "EditLineage")
    ]
    data = [{"resource": kind, "permissions": rows} for kind in kinds]
    data[3] = {"resource": "table", "permissions": [*rows, {"operation": "EditAll", "access": "conditionalAllow"}]}
    standin.faults.next(Fault(status=200, body={"data": data}), path="/permissions")
    (line,) = run_checks(settings(standin.url, standin.bot_token), "rights")
    assert line.startswith("warning: rights: depends on the entity: EditAll of table: check the conditions")


@pytest.mark.parametrize(
    ("version", "message"),
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
def test_check_version(version: str, message: str) -> None:
    assert message in str(server.check_version(version))


def test_older_server_is_a_warning(standin: OpenMetadata) -> None:
    standin.app.version = "1.10.9"
    (line,) = run_checks(settings(standin.url, standin.bot_token), "version")
    assert line.startswith("warning: version: 1.10.9")


@pytest.mark.parametrize(
    ("fault", "message", "remedy"),
    [
        (html(), "instead of the documented JSON", "set openmetadata.server.host to OpenMetadata itself"),
        (html(404), "404 ", "set openmetadata.server.host to OpenMetadata itself"),
        (error(503), "503", "wait until it is up"),
        (reset(), "does not respond", "the host may need https://"),
        (
            Fault(status=200, body={"status": "up"}),
            "instead of the documented JSON",
            "set openmetadata.server.host to OpenMetadata itself",
        ),
    ],
)
def test_other_server_at_host_is_reported(standin: OpenMetadata, fault: Fault, message: str, remedy: str) -> None:
    standin.faults.next(fault, path="/system/version")
    errors = [line for line in run_checks(settings(standin.url, standin.bot_token)) if line.startswith("error")]
    assert len(errors) == 1
    assert message in errors[0]
    assert remedy in errors[0]


def test_unreachable_port_skips_other_checks() -> None:
    with socket.socket() as unused_port:  # bound, but not listening
        unused_port.bind(("127.0.0.1", 0))
        _, unreachable, *rest = run_checks(settings(f"http://127.0.0.1:{unused_port.getsockname()[1]}"))
    assert unreachable.startswith("error: server: http://127.0.0.1:")
    assert unreachable.endswith(
        "check openmetadata.server.host, that the server is up, and that this machine can reach its port"
    )
    assert [line.split(": ")[:3] for line in rest] == [
        ["warning", subject, "not checked"] for subject in SUBJECTS[2:]
    ]


def test_https_to_http_port_is_reported(standin: OpenMetadata) -> None:
    (line,) = run_checks(settings(standin.url.replace("http:", "https:")), "server")
    assert line.endswith("the port does not use TLS: try http:// in openmetadata.server.host")


@pytest.mark.parametrize(
    ("exception", "remedy"),
    [
        (Unreachable("x: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"), "set SSL_CERT_FILE"),
        (Unreachable("x: timed out"), "check openmetadata.server.host"),
        (NoResponse("x: timed out"), "it may be overloaded"),
        (TargetUnavailable("x: 502", 502), "wait until it is up"),
        (TargetMisconfigured("x"), "set openmetadata.server.host to OpenMetadata itself"),
        (TargetRejected("x", 404), "set openmetadata.server.host to OpenMetadata itself"),
    ],
)
def test_remedy_for_unreachable_server(exception: Exception, remedy: str) -> None:
    finding = server.report_unreachable(exception)
    assert (finding.level, finding.message) == (Level.error, str(exception))
    assert remedy in (finding.remedy or "")


NOON = "Wed, 18 Nov 2026 12:00:00 GMT"
NOON_SECONDS = 1_795_003_200.0


@pytest.mark.parametrize(
    ("date", "now", "message"),
    [
        (NOON, NOON_SECONDS + 60, "ok: clock: this machine's clock agrees"),
        (NOON, NOON_SECONDS + 61, "warning: clock: the clocks of this machine and the server differ by 61 s"),
        (NOON, NOON_SECONDS - 3_600, "warning: clock: the clocks of this machine and the server differ by 3,600 s"),
        (None, NOON_SECONDS, "ok: clock: the server does not send the time"),
        ("noon", NOON_SECONDS, "ok: clock: the server does not send the time"),
    ],
)
def test_clock_difference_is_a_warning(date: str | None, now: float, message: str) -> None:
    (finding,) = server.check_clock(date, now)
    assert str(finding).startswith(message)


MAPPINGS = [
    {"namespace": "postgres://*", "service": "warehouse.eu"},
    {"namespace": "kafka://*", "service": "events"},
    {"namespace": "*", "service": "rest"},
]


@pytest.mark.parametrize(
    ("create", "level", "message"),
    [("all", "ok", "does not exist; it is created with its first entity"),
     ("entities", "error", "does not exist, and openmetadata.create is entities: create it in OpenMetadata"),
     ("nothing", "error", "does not exist, and openmetadata.create is nothing: create it in OpenMetadata")],
)  # fmt: skip
def test_missing_services_are_reported(standin: OpenMetadata, create: str, level: str, message: str) -> None:
    from connectors.http import HttpSession
    from connectors.openmetadata.client import OpenMetadataClient as Client
    from connectors.session import StaticToken

    client = Client(HttpSession(standin.url), StaticToken(standin.bot_token))
    client.put("services/databaseServices", {"name": "warehouse.eu", "serviceType": "Postgres"})
    client.close()
    lines = run_checks(settings(standin.url, standin.bot_token, mappings=MAPPINGS, create=create), "services")
    assert lines[0] == "ok: services: warehouse.eu (databaseService, Postgres) exists"
    names = [
        "events (messagingService, Kafka)",
        "rest (databaseService, CustomDatabase)",
        "lineage_bridge (databaseS",
    ]
    for line, name in zip(lines[1:], names, strict=True):
        assert line.startswith(f"{level}: services: {name}")
        assert message in line


def test_missing_settings_are_reported() -> None:
    lines = run_checks(OpenMetadataSettings(), "settings")
    assert [line.split(" ")[2] for line in lines] == [
        "openmetadata.server.host", "openmetadata.auth.jwt_token", "openmetadata.enabled",
    ]  # fmt: skip


def test_checks_run_while_target_is_disabled(standin: OpenMetadata) -> None:
    first, *rest = run_checks(settings(standin.url, standin.bot_token, enabled=False))
    assert first.startswith("warning: settings: openmetadata.enabled is false")
    assert all(line.startswith("ok") for line in rest)


@pytest.mark.parametrize(("token", "code", "level"), [("bot", 0, "ok"), ("admin", 0, "warning"), ("no", 1, "error")])
def test_exit_code_depends_on_worst_finding(standin: OpenMetadata, token: str, code: int, level: str) -> None:
    result = run_command(
        standin, {"bot": standin.bot_token, "admin": standin.admin_token}.get(token, token), "--output", "json"
    )
    assert (result.exit_code, result.stderr) == (code, "")
    output = json.loads(result.stdout)
    assert output["level"] == level
    assert [finding["thing"] for finding in output["findings"]] == SUBJECTS
    text = run_command(standin, {"bot": standin.bot_token, "admin": standin.admin_token}.get(token, token))
    assert (text.exit_code, len(text.stdout.splitlines())) == (code, len(SUBJECTS))


def run_command(standin: OpenMetadata, token: str, *args: str) -> Any:
    values = {
        "ENABLED": "true",
        "SERVER__HOST": standin.url,
        "AUTH__JWT_TOKEN": token,
        "RETRY_CONFIG__MAX_ATTEMPTS": "1",
    }
    environment = {f"LINEAGE_BRIDGE__OPENMETADATA__{name}": value for name, value in values.items()}
    return CliRunner(env=environment).invoke(app, ["openmetadata", "check", *args], catch_exceptions=False)


def test_invalid_configuration_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "openmetadata.yaml"
    path.write_text("openmetadata:\n  enabled: true\n  auth: {jwt_token: x}\n")
    result = CliRunner().invoke(app, ["openmetadata", "check", "-c", str(path)], catch_exceptions=False)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"error: config: {path}:1: openmetadata.server.host: is not set")

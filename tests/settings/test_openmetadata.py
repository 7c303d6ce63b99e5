"""OpenMetadata settings: missing and invalid values, and secrets."""

from pathlib import Path

import pytest

from bridge.settings.loader import load_settings
from bridge.settings.openmetadata import OpenMetadataSyncSettings
from tests.settings.config_files import WriteConfig, load_error

ENABLED = "openmetadata:\n  enabled: true\n"
ENABLED_WITH_HOST = f"{ENABLED}  server: {{host: 'http://om:8585'}}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ENABLED, ["PATH:1: openmetadata.server.host: is not set: name the server",
              "PATH:1: openmetadata.auth.jwt_token: is not set; type jwt requires jwt_token or token_file"]),
        (f"{ENABLED}  server: {{host: ''}}\n  auth: {{jwt_token: x}}\n", ["PATH:3: openmetadata.server.host: is not set"]),
        (f"{ENABLED_WITH_HOST}  auth: {{jwt_token: ''}}\n", ["PATH:4: openmetadata.auth.jwt_token: is empty: check the environment variable"]),
        (f"{ENABLED_WITH_HOST}  auth: {{jwt_token: '${{EMPTY}}'}}\n", ["PATH:4: openmetadata.auth.jwt_token: is empty"]),
        (f"{ENABLED_WITH_HOST}  auth:\n    jwt_token: '${{SURELY_NOT_SET}}'\n", ["PATH:5: the environment variable SURELY_NOT_SET"]),
        (f"{ENABLED_WITH_HOST}  auth: {{jwt_token: hunter2, token_file: /x}}\n", ["PATH:4: openmetadata.auth.jwt_token: conflicts with token_file"]),
        (f"{ENABLED_WITH_HOST}  auth: {{type: basic, password: hunter2}}\n",
         ["PATH:4: openmetadata.auth.username: is not set; type basic requires username, password"]),
        (f"{ENABLED_WITH_HOST}  auth: {{type: basic, username: me, password: ''}}\n", ["PATH:4: openmetadata.auth.password: is not set"]),
        (f"{ENABLED_WITH_HOST}  auth: {{type: oauth, client_id: me, client_secret: hunter2}}\n",
         ["PATH:4: openmetadata.auth.token_url: is not set; type oauth requires token_url, client_id, client_secret"]),
    ],
)  # fmt: skip
def test_missing_settings_are_reported_if_enabled(
    write_config: WriteConfig, monkeypatch: pytest.MonkeyPatch, text: str, expected: list[str]
) -> None:
    monkeypatch.setenv("EMPTY", "")
    path = write_config(text)
    lines = load_error(path).splitlines()
    assert len(lines) == len(expected)
    for line, message in zip(lines, expected, strict=True):
        assert line.startswith(message.replace("PATH", str(path)))
        assert "hunter2" not in line
    if "SURELY" not in text:
        assert not load_settings([write_config(text.replace("enabled: true", "enabled: false"))]).openmetadata.enabled


@pytest.mark.parametrize(
    "auth",
    [
        "{jwt_token: a.b.c}",
        "{token_file: /run/secrets/token}",
        "{jwt_token: '', token_file: /run/secrets/token}",
        "{type: basic, username: me@example.com, password: secret}",
        "{type: oauth, token_url: 'https://idp/token', client_id: me, client_secret: secret}",
    ],
)
def test_authentication_types(write_config: WriteConfig, auth: str) -> None:
    assert load_settings([write_config(f"{ENABLED_WITH_HOST}  auth: {auth}\n")]).openmetadata.enabled


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("https://om.example", "https://om.example"),
        ("https://om.example/", "https://om.example"),
        ("http://om:8585/api", "http://om:8585"),
        ("http://om:8585/api/", "http://om:8585"),
        ("http://om:8585/api/v1/", "http://om:8585"),
        ("http://om/catalogue/api", "http://om/catalogue"),
        ("http://[::1]:8585", "http://[::1]:8585"),
        ("", None),
    ],
)
def test_api_path_is_removed_from_host(write_config: WriteConfig, host: str, expected: str | None) -> None:
    assert (
        load_settings([write_config(f"openmetadata: {{server: {{host: '{host}'}}}}\n")]).openmetadata.server.host
        == expected
    )


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (
            "server.host",
            "om.example",
            "must be an http or https URL, such as https://server.example.com (got 'om",
        ),
        ("server.host", "ftp://om", "must be an http or https URL"),
        ("server.host", "http://", "must be an http or https URL"),
        ("server.host", "http://om:port", "must be an http or https URL"),
        ("server.host", "http://[om", "must be an http or https URL"),
        ("server.host", "http://om/?a=b", "must be an http or https URL"),
        ("server.host", "http://me:hunter2@om", "a URL must not contain a user or password"),
        ("server.api_version", "v2", "'v1'"),
        ("auth.type", "kerberos", "'jwt', 'basic' or 'oauth'"),
        ("auth.jwt_token", "[hunter2]", "valid string"),
        ("auth.password", "{a: hunter2}", "valid string"),
        ("auth.client_secret", "[hunter2]", "valid string"),
        ("auth", "hunter2", "valid dictionary"),
        ("auth.token_url", "idp", "must be an http or https URL"),
        ("service.type", "pipelineService", "'databaseService'"),
        ("service.name", "''", "at least 1 character"),
        (
            "sync.sync_frequency",
            "sometimes",
            "hourly, daily, weekly, never, or a duration such as 90s, 15m, 6h or 2d",
        ),
        ("sync.sync_frequency", "0m", "or a duration"),
        ("sync.sync_frequency", "15", "valid string"),
        ("batch_size", "0", "greater than or equal to 1"),
        ("batch_size", "501", "less than or equal to 500"),
        ("retry_config.max_attempts", "11", "less than or equal to 10"),
        ("retry_config.backoff_seconds", "0", "greater than 0"),
        ("concurrency", "17", "less than or equal to 16"),
        ("rate", "0", "greater than 0"),
        ("rate", ".inf", "finite number"),
        ("paths_as", "file", "'table' or 'container'"),
        ("create", "some", "'all', 'entities' or 'nothing'"),
        ("unresolved", "guess", "'report' or 'own_service'"),
    ],
)
def test_invalid_setting_is_reported(write_config: WriteConfig, key: str, value: str, reason: str) -> None:
    text = value if value.startswith(("[", "{", "'", ".")) or value.isdecimal() else f"'{value}'"
    for part in reversed(("openmetadata", *key.split("."))):
        text = f"{{{part}: {text}}}"
    message = load_error(write_config(text))
    assert f":1: openmetadata.{key}: " in message
    assert reason in message
    assert "hunter2" not in message


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("{namespace: a}", "openmetadata.mappings.0.service: Field required"),
        (
            "{namespace: a, service: b, schema: '{tabel}'}",
            "openmetadata.mappings.0.schema: {tabel} is not a placeholder",
        ),
        ("{namespace: a, service: b, schem: c}", "unknown key openmetadata.mappings.0.schem; did you mean schema?"),
        ("{namespace: a, service: b, schema: ''}", "at least 1 character"),
    ],
)
def test_invalid_mapping_is_reported(write_config: WriteConfig, mapping: str, message: str) -> None:
    assert message in load_error(write_config(f"openmetadata:\n  mappings:\n    - {mapping}\n"))


@pytest.mark.parametrize(
    ("frequency", "seconds"),
    [("hourly", 3_600), ("daily", 86_400), ("weekly", 604_800), ("never", None), ("90s", 90), ("15m", 900),
     ("6h", 21_600), ("2d", 172_800)],
)  # fmt: skip
def test_sync_frequency_in_seconds(frequency: str, seconds: float | None) -> None:
    assert OpenMetadataSyncSettings(sync_frequency=frequency).comparison_interval_seconds == seconds


def test_token_file_from_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("a.b.c\n")
    auth = "LINEAGE_BRIDGE__OPENMETADATA__AUTH__"
    monkeypatch.setenv(f"{auth}TOKEN_FILE", str(secret))
    assert load_settings().openmetadata.auth.token_file == secret
    monkeypatch.setenv(f"{auth}JWT_TOKEN", "restored after the test")
    monkeypatch.setenv(f"{auth}JWT_TOKEN_FILE", str(secret))
    token = load_settings().openmetadata.auth.jwt_token
    assert token is not None
    assert token.get_secret_value() == "a.b.c"


def test_secrets_are_not_in_text_of_settings(write_config: WriteConfig) -> None:
    settings = load_settings(
        [
            write_config(
                f"{ENABLED_WITH_HOST}  auth: {{jwt_token: hunter2, password: hunter2, client_secret: hunter2}}\n"
            )
        ]
    )
    assert "hunter2" not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"

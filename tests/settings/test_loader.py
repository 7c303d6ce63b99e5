"""Sources of settings, and errors."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from bridge.settings.loader import load_settings
from bridge.settings.model import ApiKey, NeverLinkSettings, Settings
from bridge.settings.openmetadata import NamespaceMapping, OpenMetadataSettings
from tests.settings.config_files import WriteConfig, load_error

CONFIGS = Path(__file__).parents[2] / "configs"
EXAMPLE_CONFIG, OPENMETADATA_CONFIG = CONFIGS / "bridge.yaml", CONFIGS / "openmetadata.yaml"
KEY_HASH = hashlib.sha256(b"a key").hexdigest()


def get_setting(settings: Settings, key: str) -> Any:
    section: Any = settings
    for part in key.split("."):
        section = getattr(section, part)
    return section


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("org", "default"),
        ("store.max_size_mb", None),
        ("server.host", "127.0.0.1"),
        ("server.port", 8090),
        ("server.drain_seconds", 10),
        ("server.api_keys", []),
        ("intake.max_body_mb", 10),
        ("intake.max_unpacked_mb", 50),
        ("intake.max_waiting", 5_000),
        ("identity.never_link", []),
        ("folding.job", "parent"),
        ("folding.step", "effect"),
        ("legacy.autosys_instance", "default"),
        ("legacy.db2_url", None),
        ("legacy.db2_database", None),
        ("legacy.teradata_url", None),
        ("legacy.hdfs_url", None),
        ("log.format", "console"),
        ("openmetadata.enabled", False),
        ("openmetadata.server.host", None),
        ("openmetadata.auth.jwt_token", None),
        ("openmetadata.service.name", "lineage_bridge"),
        ("openmetadata.sync.sync_frequency", "hourly"),
        ("openmetadata.batch_size", 100),
        ("openmetadata.retry_config.max_attempts", 3),
        ("openmetadata.retry_config.backoff_seconds", 5),
        ("openmetadata.mappings", []),
        ("openmetadata.paths_as", "table"),
        ("openmetadata.concurrency", 8),
        ("openmetadata.rate", None),
        ("openmetadata.create", "all"),
        ("openmetadata.unresolved", "report"),
    ],
)
def test_every_setting_has_a_default(key: str, value: Any) -> None:
    assert get_setting(load_settings(), key) == value


def test_default_store_is_in_user_data_folder() -> None:
    assert load_settings().store.url.startswith("sqlite:///")
    assert load_settings().store.url.endswith("lineage-bridge/store.db")


def test_environment_overrides_single_keys_of_files(
    write_config: WriteConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_config("server:\n  port: 1111\n  drain_seconds: 3\n")
    monkeypatch.setenv("LINEAGE_BRIDGE__SERVER__PORT", "2222")
    server = load_settings([path]).server
    assert (server.port, server.drain_seconds, server.host) == (2222, 3, "127.0.0.1")


def test_variables_may_be_lower_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("lineage_bridge__server__port", "2222")
    assert load_settings().server.port == 2222


def test_later_files_override_single_keys(write_config: WriteConfig) -> None:
    first = write_config("org: one\nserver: {port: 1, drain_seconds: 2}\nintake:\n  noise_facets: [a, b]\n")
    second = write_config("server: {port: 3}\nintake:\n  noise_facets: [c]\n")
    settings = load_settings([first, second])
    assert (settings.org, settings.server.port, settings.server.drain_seconds) == ("one", 3, 2)
    assert settings.intake.noise_facets == ["c"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_empty_file(write_config: WriteConfig, text: str) -> None:
    assert load_settings([write_config(text)]) == load_settings()


@pytest.mark.parametrize(
    ("text", "environment", "key", "value"),
    [
        ("org: ${TEAM}", {"TEAM": "blue"}, "org", "blue"),
        ("org: a-${TEAM}-${TEAM}", {"TEAM": "b"}, "org", "a-b-b"),
        ("org: ${TEAM:-red}", {}, "org", "red"),
        ("org: ${TEAM:-red}", {"TEAM": "blue"}, "org", "blue"),
        ("org: ${TEAM:-red}", {"TEAM": ""}, "org", "red"),
        ('org: "${TEAM:-}x"', {}, "org", "x"),
        ("server: {port: '${PORT:-8091}'}", {}, "server.port", 8091),
        ("server:\n  port: ${PORT}", {"PORT": "8092"}, "server.port", 8092),
        ("intake:\n  noise_facets: ['${NOISE}']", {"NOISE": "debug"}, "intake.noise_facets", ["debug"]),
        ("org: $TEAM", {"TEAM": "blue"}, "org", "$TEAM"),
        ("org: '${not a name}'", {}, "org", "${not a name}"),
        ("org: ${TEAM}", {"TEAM": "${OTHER}", "OTHER": "x"}, "org", "${OTHER}"),
    ],
)
def test_variables_in_files_are_substituted(
    write_config: WriteConfig,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    environment: dict[str, str],
    key: str,
    value: Any,
) -> None:
    for name, content in environment.items():
        monkeypatch.setenv(name, content)
    assert get_setting(load_settings([write_config(text)]), key) == value


def test_missing_variable_is_reported_with_line(write_config: WriteConfig) -> None:
    path = write_config("org: default\nstore:\n  url: sqlite:///${SURELY_NOT_SET}/store.db\n")
    assert load_error(path) == f"{path}:3: the environment variable SURELY_NOT_SET is not set"


def test_value_from_secret_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("sqlite:////tmp/secret.db\n")
    monkeypatch.delenv("LINEAGE_BRIDGE__STORE__URL", raising=False)
    monkeypatch.setenv("LINEAGE_BRIDGE__STORE__URL", "restored after the test")
    monkeypatch.setenv("LINEAGE_BRIDGE__STORE__URL_FILE", str(secret))
    assert load_settings().store.url == "sqlite:////tmp/secret.db"
    assert load_settings().store.url == "sqlite:////tmp/secret.db"


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["missing file", "invalid UTF-8"])
def test_unreadable_secret_file_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    secret = tmp_path / "secret"
    if content is not None:
        secret.write_bytes(content)
    monkeypatch.setenv("LINEAGE_BRIDGE__STORE__URL_FILE", str(secret))
    assert load_error().startswith("cannot read the file in LINEAGE_BRIDGE__STORE__URL_FILE: ")


@pytest.mark.parametrize(
    ("text", "line", "key", "suggestion"),
    [
        ("servr:\n  port: 1\n", 1, "servr", "server"),
        ("org: x\nserver:\n  host: localhost\n  prt: 1\n", 4, "server.prt", "port"),
        ("intake:\n  max_wating: 1\n", 2, "intake.max_wating", "max_waiting"),
        ("identity:\n  never_link:\n    - {namespace: a}\n    - namespace: b\n      nam: c\n", 5,
         "identity.never_link.1.nam", "name"),
        (f"server:\n  api_keys:\n    - name: a\n      sha256: {KEY_HASH}\n      scopes: [read]\n      scope: read\n", 6,
         "server.api_keys.0.scope", "scopes"),
    ],
)  # fmt: skip
def test_unknown_key_is_reported_with_line_and_suggestion(
    write_config: WriteConfig, text: str, line: int, key: str, suggestion: str
) -> None:
    path = write_config(text)
    assert load_error(path).startswith(f"{path}:{line}: unknown key {key}; did you mean {suggestion}? Valid: ")


@pytest.mark.parametrize(
    ("text", "line", "key", "reason"),
    [
        ("server:\n  port: many\n", 2, "server.port", "valid integer"),
        ("server:\n\n  port: 70000\n", 3, "server.port", "less than or equal to 65535"),
        ("server: 17\n", 1, "server", "valid dictionary"),
        ("server:\n", 1, "server", "valid dictionary"),
        ("org: ''\n", 1, "org", "at least 1 character"),
        ("log:\n  format: xml\n", 2, "log.format", "'console' or 'json'"),
        ("intake:\n  max_group: 0\n", 2, "intake.max_group", "greater than or equal to 1"),
        ("intake:\n  noise_facets: debug\n", 2, "intake.noise_facets", "valid list"),
        ("store:\n  max_size_mb: 0.5\n", 2, "store.max_size_mb", "valid integer"),
        ("folding:\n  step: [a]\n", 2, "folding.step", "'effect' or 'listener'"),
        ("legacy:\n  autosys_instance: a/b\n", 2, "legacy.autosys_instance", "match pattern"),
        ("legacy:\n  db2_url: postgres://h:1\n", 2, "legacy.db2_url", "match pattern"),
        ("legacy:\n  db2_url: db2://h:1/path\n", 2, "legacy.db2_url", "match pattern"),
        ("legacy:\n  db2_database: A.B\n", 2, "legacy.db2_database", "match pattern"),
        ("legacy:\n  teradata_url: teradata://\n", 2, "legacy.teradata_url", "match pattern"),
        ("legacy:\n  hdfs_url: namenode\n", 2, "legacy.hdfs_url", "match pattern"),
        (f"server:\n  api_keys:\n  - name: a\n    sha256: {KEY_HASH}\n    scopes: [read, write]\n", 5,
         "server.api_keys.0.scopes.1", "'ingest', 'read' or 'operate'"),
        (f"server:\n  api_keys:\n  - name: a\n    sha256: {KEY_HASH}\n    scopes: []\n", 5,
         "server.api_keys.0.scopes", "at least 1 item"),
        (f"server:\n  api_keys:\n  - name: a\n    sha256: {KEY_HASH}\n", 3, "server.api_keys.0.scopes", "required"),
    ],
)  # fmt: skip
def test_invalid_value_is_reported_with_line_and_reason(
    write_config: WriteConfig, text: str, line: int, key: str, reason: str
) -> None:
    path = write_config(text)
    message = load_error(path)
    assert message.startswith(f"{path}:{line}: {key}: ")
    assert reason in message


def test_all_errors_are_reported_together(write_config: WriteConfig) -> None:
    first, second = write_config("server:\n  port: a\n"), write_config("log:\n  level: loud\n")
    errors = load_error(first, second).splitlines()
    assert [line.partition(": ")[0] for line in errors] == [f"{first}:2", f"{second}:2"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("SERVER__PRT", "1", "unknown key server.prt; did you mean port? Valid: host, port,"),
        ("SERVR__PORT", "1", "unknown key servr; did you mean server? Valid: org, store,"),
        ("ORGG", "x", "unknown key orgg; did you mean org?"),
        ("ORG__NAME", "x", "org is a single value"),
        ("SERVER__PORT__X", "1", "server.port is a single value"),
        ("SERVER__API_KEYS__0__NAME", "a", "server.api_keys is a single value"),
        ("SERVER__PORT", "many", "server.port: Input should be a valid integer"),
        ("SERVER__PORT", "", "server.port: Input should be a valid integer"),
        ("SERVER__API_KEYS", "a,b", "server.api_keys must be JSON"),
        ("SERVER", "here", "server must be JSON"),
        ("SERVER__API_KEYS", '[{"nam": "a"}]', "unknown key server.api_keys.0.nam; did you mean name?"),
        ("INTAKE__NOISE_FACETS", '"debug"', "intake.noise_facets: Input should be a valid list"),
    ],
)
def test_invalid_variable_is_reported(monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str) -> None:
    monkeypatch.setenv(f"LINEAGE_BRIDGE__{name}", value)
    lines = [line for line in load_error().splitlines() if line.startswith(f"LINEAGE_BRIDGE__{name}: {message}")]
    assert len(lines) == 1, load_error()


def test_invalid_variable_is_reported_even_if_file_sets_the_key(
    write_config: WriteConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_config("server:\n  port: 17\n")
    monkeypatch.setenv("LINEAGE_BRIDGE__SERVER__PORT", "many")
    assert load_error(path).startswith("LINEAGE_BRIDGE__SERVER__PORT: server.port: ")


def test_lists_in_variables_are_json(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = f'[{{"name": "spark", "sha256": "{KEY_HASH}", "scopes": ["ingest"]}}]'
    monkeypatch.setenv("LINEAGE_BRIDGE__SERVER__API_KEYS", keys)
    assert load_settings().server.api_keys == [ApiKey(name="spark", sha256=KEY_HASH, scopes=["ingest"])]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("store: &a {}\nintake: *a\n", ":1: YAML aliases are not supported"),
        ("a: &a [*a]\n", "YAML aliases are not supported"),
        ("org: x\norg: y\n", ":2: org is set twice"),
        ("server:\n  port: 1\n  host: localhost\n  port: 2\n", ":4: port is set twice"),
        ("[1, 2]\n", "the file must contain sections, not a list"),
        ("just text\n", "the file must contain sections, not a str"),
        ("org: [\n", "is not YAML"),
        ("org: x\n---\norg: y\n", "is not YAML"),
        ("\torg: x\n", "is not YAML"),
        ("org: !!python/object/apply:os.getcwd []\n", "valid string (got [])"),
        ("org: !own x\n", "unsupported YAML value"),
        ("org: 2026-13-45\n", "unsupported YAML value"),
        ("[" * 5000, "is not YAML"),
    ],
)
def test_invalid_file_is_rejected_with_reason(write_config: WriteConfig, text: str, reason: str) -> None:
    path = write_config(text)
    message = load_error(path)
    assert str(path) in message
    assert reason in message
    assert "\n" not in message


def test_file_with_invalid_utf8_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"org: \xff\xfe\n")
    assert load_error(path).startswith(f"{path} is not YAML")


@pytest.mark.parametrize("name", ["absent.yaml", "."])
def test_unreadable_file_is_reported(tmp_path: Path, name: str) -> None:
    assert load_error(tmp_path / name).startswith(f"cannot read the configuration {tmp_path / name}: ")


@pytest.mark.parametrize(
    ("host", "allowed"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True),
     ("0.0.0.0", False), ("::", False), ("", False),  # noqa: S104 - it is refused
     ("bridge.example.com", False), ("192.168.0.1", False)],
)  # fmt: skip
def test_only_loopback_is_served_without_keys(
    write_config: WriteConfig, monkeypatch: pytest.MonkeyPatch, host: str, *, allowed: bool
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE__SERVER__HOST", host)
    if allowed:
        assert load_settings().server.host == host
        return
    message = load_error()
    assert "server.api_keys is empty" in message
    assert "lineage-bridge keys create" in message
    keys = write_config(f"server:\n  api_keys:\n    - {{name: a, sha256: {KEY_HASH}, scopes: [ingest]}}\n")
    assert load_settings([keys]).server.host == host


@pytest.mark.parametrize(
    "invalid_hash", ["a plain secret key", KEY_HASH[:-1], KEY_HASH + "0", KEY_HASH.upper(), f"sha256:{KEY_HASH}"]
)
def test_invalid_key_hash_is_rejected_and_not_printed(write_config: WriteConfig, invalid_hash: str) -> None:
    path = write_config(
        f"server:\n  api_keys:\n    - name: a\n      sha256: '{invalid_hash}'\n      scopes: [read]\n"
    )
    message = load_error(path)
    assert message.startswith(f"{path}:4: server.api_keys.0.sha256: String should match pattern")
    assert invalid_hash not in message


@pytest.mark.parametrize("kind", ["db2", "teradata", "hdfs"])
def test_url_with_password_is_rejected_and_not_printed(write_config: WriteConfig, kind: str) -> None:
    message = load_error(write_config(f"legacy:\n  {kind}_url: {kind}://me:hunter2@h:1\n"))
    assert f"legacy.{kind}_url: String should match pattern" in message
    assert "hunter2" not in message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("autosys_instance", "PRD"),
        ("db2_url", "db2://h:50000"),
        ("db2_database", "PROD"),
        ("teradata_url", "teradata://td.example.com:1025"),
        ("hdfs_url", "hdfs://namenode:8020"),
    ],
)
def test_legacy_settings(write_config: WriteConfig, key: str, value: str) -> None:
    assert get_setting(load_settings([write_config(f"legacy:\n  {key}: {value}\n")]), f"legacy.{key}") == value


def test_example_configuration_contains_defaults() -> None:
    assert load_settings([EXAMPLE_CONFIG]) == load_settings()


def test_openmetadata_example_contains_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENMETADATA_JWT_TOKEN", "a.b.c")
    monkeypatch.delenv("OPENMETADATA_HOST", raising=False)
    settings = load_settings([EXAMPLE_CONFIG, OPENMETADATA_CONFIG]).openmetadata
    assert (settings.enabled, settings.server.host) == (True, "http://localhost:8585")
    configured = {"enabled", "server", "auth"}
    assert settings.model_dump(exclude=configured) == Settings().openmetadata.model_dump(exclude=configured)
    assert settings.auth.model_dump(exclude={"jwt_token"}) == Settings().openmetadata.auth.model_dump(
        exclude={"jwt_token"}
    )


def test_examples_contain_every_key() -> None:
    text = EXAMPLE_CONFIG.read_text(encoding="utf-8") + OPENMETADATA_CONFIG.read_text(encoding="utf-8")
    missing = [key for key in _keys(Settings) if f"{key}:" not in text]
    assert missing == []
    entries = (ApiKey, NeverLinkSettings, NamespaceMapping)
    names = {field.alias or name for entry in entries for name, field in entry.model_fields.items()}
    assert names <= {word.strip("{:,") for word in text.split()}


def test_every_openmetadata_key_is_documented() -> None:
    page = (CONFIGS.parent / "docs" / "guides" / "openmetadata.md").read_text(encoding="utf-8")
    assert [name for name in _leaves(OpenMetadataSettings) if f"`{name}`" not in page] == []


def _leaves(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        section = isinstance(kind, type) and issubclass(kind, BaseModel)
        yield from _leaves(kind, f"{prefix}{name}.") if section else [f"{prefix}{name}"]  # type: ignore[arg-type]


def _keys(model: type[BaseModel]) -> list[str]:
    names = []
    for name, field in model.model_fields.items():
        names.append(name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            names += _keys(field.annotation)
    return names

"""Settings: where they come from, and what is said when they are wrong."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from bridge.settings.loader import load_settings
from bridge.settings.model import ApiKey, NeverLinkSettings, Settings
from bridge.settings.openmetadata import NamespaceMapping, OpenMetadataSettings
from tests.settings.config_files import WriteConfig, refusal

CONFIGS = Path(__file__).parents[2] / "configs"
EXAMPLE, TARGET = CONFIGS / "bridge.yaml", CONFIGS / "openmetadata.yaml"
SHA = hashlib.sha256(b"a key").hexdigest()


def value_of(settings: Settings, key: str) -> Any:
    at: Any = settings
    for part in key.split("."):
        at = getattr(at, part)
    return at


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
    assert value_of(load_settings(), key) == value


def test_the_store_is_in_the_users_data_folder() -> None:
    assert load_settings().store.url.startswith("sqlite:///")
    assert load_settings().store.url.endswith("lineage-bridge/store.db")


def test_the_environment_wins_over_files_key_by_key(
    write_config: WriteConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_config("server:\n  port: 1111\n  drain_seconds: 3\n")
    monkeypatch.setenv("LINEAGE_BRIDGE__SERVER__PORT", "2222")
    server = load_settings([path]).server
    assert (server.port, server.drain_seconds, server.host) == (2222, 3, "127.0.0.1")


def test_lower_case_variables_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("lineage_bridge__server__port", "2222")
    assert load_settings().server.port == 2222


def test_later_files_override_single_keys_of_earlier_ones(write_config: WriteConfig) -> None:
    first = write_config("org: one\nserver: {port: 1, drain_seconds: 2}\nintake:\n  noise_facets: [a, b]\n")
    second = write_config("server: {port: 3}\nintake:\n  noise_facets: [c]\n")
    settings = load_settings([first, second])
    assert (settings.org, settings.server.port, settings.server.drain_seconds) == ("one", 3, 2)
    assert settings.intake.noise_facets == ["c"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_a_file_may_set_nothing(write_config: WriteConfig, text: str) -> None:
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
def test_a_file_may_name_variables(
    write_config: WriteConfig,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    environment: dict[str, str],
    key: str,
    value: Any,
) -> None:
    for name, content in environment.items():
        monkeypatch.setenv(name, content)
    assert value_of(load_settings([write_config(text)]), key) == value


def test_a_variable_that_is_not_set_is_named_with_its_place(write_config: WriteConfig) -> None:
    path = write_config("org: default\nstore:\n  url: sqlite:///${SURELY_NOT_SET}/store.db\n")
    assert refusal(path) == f"{path}:3: the environment variable SURELY_NOT_SET is not set"


def test_a_value_may_lie_in_a_file_that_a_variable_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("sqlite:////tmp/secret.db\n")
    monkeypatch.delenv("LINEAGE_BRIDGE__STORE__URL", raising=False)
    monkeypatch.setenv("LINEAGE_BRIDGE__STORE__URL", "to be put back after the test")
    monkeypatch.setenv("LINEAGE_BRIDGE__STORE__URL_FILE", str(secret))
    assert load_settings().store.url == "sqlite:////tmp/secret.db"
    assert load_settings().store.url == "sqlite:////tmp/secret.db"


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["absent", "no text"])
def test_a_secret_file_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    secret = tmp_path / "secret"
    if content is not None:
        secret.write_bytes(content)
    monkeypatch.setenv("LINEAGE_BRIDGE__STORE__URL_FILE", str(secret))
    assert refusal().startswith("cannot read the file in LINEAGE_BRIDGE__STORE__URL_FILE: ")


@pytest.mark.parametrize(
    ("text", "line", "key", "meant"),
    [
        ("servr:\n  port: 1\n", 1, "servr", "server"),
        ("org: x\nserver:\n  host: localhost\n  prt: 1\n", 4, "server.prt", "port"),
        ("intake:\n  max_wating: 1\n", 2, "intake.max_wating", "max_waiting"),
        ("identity:\n  never_link:\n    - {namespace: a}\n    - namespace: b\n      nam: c\n", 5,
         "identity.never_link.1.nam", "name"),
        (f"server:\n  api_keys:\n    - name: a\n      sha256: {SHA}\n      scopes: [read]\n      scope: read\n", 6,
         "server.api_keys.0.scope", "scopes"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_named_with_its_line_and_the_nearest_valid_one(
    write_config: WriteConfig, text: str, line: int, key: str, meant: str
) -> None:
    path = write_config(text)
    assert refusal(path).startswith(f"{path}:{line}: unknown key {key}; did you mean {meant}? Valid: ")


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
        (f"server:\n  api_keys:\n  - name: a\n    sha256: {SHA}\n    scopes: [read, write]\n", 5,
         "server.api_keys.0.scopes.1", "'ingest', 'read' or 'operate'"),
        (f"server:\n  api_keys:\n  - name: a\n    sha256: {SHA}\n    scopes: []\n", 5,
         "server.api_keys.0.scopes", "at least 1 item"),
        (f"server:\n  api_keys:\n  - name: a\n    sha256: {SHA}\n", 3, "server.api_keys.0.scopes", "required"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_its_line_and_the_reason(
    write_config: WriteConfig, text: str, line: int, key: str, reason: str
) -> None:
    path = write_config(text)
    message = refusal(path)
    assert message.startswith(f"{path}:{line}: {key}: ")
    assert reason in message


def test_all_mistakes_are_told_at_once(write_config: WriteConfig) -> None:
    first, second = write_config("server:\n  port: a\n"), write_config("log:\n  level: loud\n")
    message = refusal(first, second).splitlines()
    assert [line.partition(": ")[0] for line in message] == [f"{first}:2", f"{second}:2"]


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
def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str) -> None:
    monkeypatch.setenv(f"LINEAGE_BRIDGE__{name}", value)
    found = [line for line in refusal().splitlines() if line.startswith(f"LINEAGE_BRIDGE__{name}: {message}")]
    assert len(found) == 1, refusal()


def test_a_wrong_variable_is_named_although_a_file_sets_the_key_too(
    write_config: WriteConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_config("server:\n  port: 17\n")
    monkeypatch.setenv("LINEAGE_BRIDGE__SERVER__PORT", "many")
    assert refusal(path).startswith("LINEAGE_BRIDGE__SERVER__PORT: server.port: ")


def test_lists_in_variables_are_json(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = f'[{{"name": "spark", "sha256": "{SHA}", "scopes": ["ingest"]}}]'
    monkeypatch.setenv("LINEAGE_BRIDGE__SERVER__API_KEYS", keys)
    assert load_settings().server.api_keys == [ApiKey(name="spark", sha256=SHA, scopes=["ingest"])]


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
def test_a_file_that_cannot_be_read_as_settings_is_refused_with_the_reason(
    write_config: WriteConfig, text: str, reason: str
) -> None:
    path = write_config(text)
    message = refusal(path)
    assert str(path) in message
    assert reason in message
    assert "\n" not in message


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"org: \xff\xfe\n")
    assert refusal(path).startswith(f"{path} is not YAML")


@pytest.mark.parametrize("name", ["absent.yaml", "."])
def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path, name: str) -> None:
    assert refusal(tmp_path / name).startswith(f"cannot read the configuration {tmp_path / name}: ")


@pytest.mark.parametrize(
    ("host", "allowed"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True),
     ("0.0.0.0", False), ("::", False), ("", False),  # noqa: S104 - it is refused
     ("bridge.example.com", False), ("192.168.0.1", False)],
)  # fmt: skip
def test_only_this_machine_is_served_without_keys(
    write_config: WriteConfig, monkeypatch: pytest.MonkeyPatch, host: str, *, allowed: bool
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE__SERVER__HOST", host)
    if allowed:
        assert load_settings().server.host == host
        return
    message = refusal()
    assert "server.api_keys is empty" in message
    assert "lineage-bridge keys create" in message
    keys = write_config(f"server:\n  api_keys:\n    - {{name: a, sha256: {SHA}, scopes: [ingest]}}\n")
    assert load_settings([keys]).server.host == host


@pytest.mark.parametrize("wrong", ["a plain secret key", SHA[:-1], SHA + "0", SHA.upper(), f"sha256:{SHA}"])
def test_a_key_that_is_no_hash_is_refused_and_not_repeated(write_config: WriteConfig, wrong: str) -> None:
    path = write_config(f"server:\n  api_keys:\n    - name: a\n      sha256: '{wrong}'\n      scopes: [read]\n")
    message = refusal(path)
    assert message.startswith(f"{path}:4: server.api_keys.0.sha256: String should match pattern")
    assert wrong not in message


@pytest.mark.parametrize("kind", ["db2", "teradata", "hdfs"])
def test_an_address_with_a_password_is_refused_and_not_repeated(write_config: WriteConfig, kind: str) -> None:
    message = refusal(write_config(f"legacy:\n  {kind}_url: {kind}://me:hunter2@h:1\n"))
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
def test_the_words_of_legacy_jobs_can_be_given_a_meaning(write_config: WriteConfig, key: str, value: str) -> None:
    assert value_of(load_settings([write_config(f"legacy:\n  {key}: {value}\n")]), f"legacy.{key}") == value


def test_the_example_runs_as_it_is_and_says_the_defaults() -> None:
    assert load_settings([EXAMPLE]) == load_settings()


def test_the_example_of_openmetadata_runs_as_it_is_and_says_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENMETADATA_JWT_TOKEN", "a.b.c")
    monkeypatch.delenv("OPENMETADATA_HOST", raising=False)
    found = load_settings([EXAMPLE, TARGET]).openmetadata
    assert (found.enabled, found.server.host) == (True, "http://localhost:8585")
    ours = {"enabled", "server", "auth"}
    assert found.model_dump(exclude=ours) == Settings().openmetadata.model_dump(exclude=ours)
    assert found.auth.model_dump(exclude={"jwt_token"}) == Settings().openmetadata.auth.model_dump(
        exclude={"jwt_token"}
    )


def test_the_examples_name_every_key() -> None:
    text = EXAMPLE.read_text(encoding="utf-8") + TARGET.read_text(encoding="utf-8")
    missing = [key for key in _keys(Settings) if f"{key}:" not in text]
    assert missing == []
    entries = (ApiKey, NeverLinkSettings, NamespaceMapping)
    names = {field.alias or name for entry in entries for name, field in entry.model_fields.items()}
    assert names <= {word.strip("{:,") for word in text.split()}


def test_every_key_of_openmetadata_is_explained() -> None:
    page = (CONFIGS.parent / "docs" / "guides" / "openmetadata.md").read_text(encoding="utf-8")
    assert [name for name in _leaves(OpenMetadataSettings) if f"`{name}`" not in page] == []


def _leaves(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        section = isinstance(kind, type) and issubclass(kind, BaseModel)
        yield from _leaves(kind, f"{prefix}{name}.") if section else [f"{prefix}{name}"]  # type: ignore[arg-type]


def _keys(model: type[BaseModel]) -> list[str]:
    found = []
    for name, field in model.model_fields.items():
        found.append(name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found += _keys(field.annotation)
    return found

"""Settings: where they come from, and what is said when they are wrong."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from bridge.configuration import load_settings
from bridge.openmetadata_settings import NamespaceMapping, OpenMetadataSettings, SyncSettings
from bridge.settings import ApiKey, NeverLinkRule, Settings
from mappers.errors import ConfigError

CONFIGS = Path(__file__).parents[2] / "configs"
EXAMPLE, TARGET = CONFIGS / "bridge.yaml", CONFIGS / "openmetadata.yaml"
SHA = hashlib.sha256(b"a key").hexdigest()

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write one configuration file a call."""
    written: list[Path] = []

    def to_file(text: str) -> Path:
        path = tmp_path / f"{len(written)}.yaml"
        path.write_text(text, encoding="utf-8")
        written.append(path)
        return path

    return to_file


def refusal(*paths: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        load_settings(paths)
    return str(raised.value)


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


def test_the_environment_wins_over_files_key_by_key(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("server:\n  port: 1111\n  drain_seconds: 3\n")
    monkeypatch.setenv("LINEAGE_BRIDGE__SERVER__PORT", "2222")
    server = load_settings([path]).server
    assert (server.port, server.drain_seconds, server.host) == (2222, 3, "127.0.0.1")


def test_lower_case_variables_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("lineage_bridge__server__port", "2222")
    assert load_settings().server.port == 2222


def test_later_files_override_single_keys_of_earlier_ones(write: Write) -> None:
    first = write("org: one\nserver: {port: 1, drain_seconds: 2}\nintake:\n  noise_facets: [a, b]\n")
    second = write("server: {port: 3}\nintake:\n  noise_facets: [c]\n")
    settings = load_settings([first, second])
    assert (settings.org, settings.server.port, settings.server.drain_seconds) == ("one", 3, 2)
    assert settings.intake.noise_facets == ["c"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_a_file_may_set_nothing(write: Write, text: str) -> None:
    assert load_settings([write(text)]) == load_settings()


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
    write: Write, monkeypatch: pytest.MonkeyPatch, text: str, environment: dict[str, str], key: str, value: Any
) -> None:
    for name, content in environment.items():
        monkeypatch.setenv(name, content)
    assert value_of(load_settings([write(text)]), key) == value


def test_a_variable_that_is_not_set_is_named_with_its_place(write: Write) -> None:
    path = write("org: default\nstore:\n  url: sqlite:///${SURELY_NOT_SET}/store.db\n")
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
    assert refusal().startswith("cannot read the file of LINEAGE_BRIDGE__STORE__URL_FILE: ")


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
    write: Write, text: str, line: int, key: str, meant: str
) -> None:
    path = write(text)
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
    write: Write, text: str, line: int, key: str, reason: str
) -> None:
    path = write(text)
    message = refusal(path)
    assert message.startswith(f"{path}:{line}: {key}: ")
    assert reason in message


def test_all_mistakes_are_told_at_once(write: Write) -> None:
    first, second = write("server:\n  port: a\n"), write("log:\n  level: loud\n")
    message = refusal(first, second).splitlines()
    assert [line.partition(": ")[0] for line in message] == [f"{first}:2", f"{second}:2"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("SERVER__PRT", "1", "unknown key server.prt; did you mean port? Valid: host, port,"),
        ("SERVR__PORT", "1", "unknown key servr; did you mean server? Valid: org, store,"),
        ("ORGG", "x", "unknown key orgg; did you mean org?"),
        ("ORG__NAME", "x", "org is one value"),
        ("SERVER__PORT__X", "1", "server.port is one value"),
        ("SERVER__API_KEYS__0__NAME", "a", "server.api_keys is one value"),
        ("SERVER__PORT", "many", "server.port: Input should be a valid integer"),
        ("SERVER__PORT", "", "server.port: Input should be a valid integer"),
        ("SERVER__API_KEYS", "a,b", "server.api_keys must be given as JSON"),
        ("SERVER", "here", "server must be given as JSON"),
        ("SERVER__API_KEYS", '[{"nam": "a"}]', "unknown key server.api_keys.0.nam; did you mean name?"),
        ("INTAKE__NOISE_FACETS", '"debug"', "intake.noise_facets: Input should be a valid list"),
    ],
)
def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str) -> None:
    monkeypatch.setenv(f"LINEAGE_BRIDGE__{name}", value)
    found = [line for line in refusal().splitlines() if line.startswith(f"LINEAGE_BRIDGE__{name}: {message}")]
    assert len(found) == 1, refusal()


def test_a_wrong_variable_is_named_although_a_file_sets_the_key_too(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("server:\n  port: 17\n")
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
        ("[1, 2]\n", "the file must hold sections, not a list"),
        ("just text\n", "the file must hold sections, not a str"),
        ("org: [\n", "is not YAML"),
        ("org: x\n---\norg: y\n", "is not YAML"),
        ("\torg: x\n", "is not YAML"),
        ("org: !!python/object/apply:os.getcwd []\n", "valid string (got [])"),
        ("org: !own x\n", "is not YAML"),
        ("org: 2026-13-45\n", "is not YAML"),
        ("[" * 5000, "is not YAML"),
    ],
)
def test_a_file_that_cannot_be_read_as_settings_is_refused_with_the_reason(
    write: Write, text: str, reason: str
) -> None:
    path = write(text)
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
    write: Write, monkeypatch: pytest.MonkeyPatch, host: str, *, allowed: bool
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE__SERVER__HOST", host)
    if allowed:
        assert load_settings().server.host == host
        return
    message = refusal()
    assert "server.api_keys is empty" in message
    assert "lineage-bridge keys create" in message
    keys = write(f"server:\n  api_keys:\n    - {{name: a, sha256: {SHA}, scopes: [ingest]}}\n")
    assert load_settings([keys]).server.host == host


@pytest.mark.parametrize("wrong", ["a plain secret key", SHA[:-1], SHA + "0", SHA.upper(), f"sha256:{SHA}"])
def test_a_key_that_is_no_hash_is_refused_and_not_repeated(write: Write, wrong: str) -> None:
    path = write(f"server:\n  api_keys:\n    - name: a\n      sha256: '{wrong}'\n      scopes: [read]\n")
    message = refusal(path)
    assert message.startswith(f"{path}:4: server.api_keys.0.sha256: String should match pattern")
    assert wrong not in message


@pytest.mark.parametrize("kind", ["db2", "teradata", "hdfs"])
def test_an_address_with_a_password_is_refused_and_not_repeated(write: Write, kind: str) -> None:
    message = refusal(write(f"legacy:\n  {kind}_url: {kind}://me:hunter2@h:1\n"))
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
def test_the_words_of_legacy_jobs_can_be_given_a_meaning(write: Write, key: str, value: str) -> None:
    assert value_of(load_settings([write(f"legacy:\n  {key}: {value}\n")]), f"legacy.{key}") == value


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
    entries = (ApiKey, NeverLinkRule, NamespaceMapping)
    names = {field.alias or name for entry in entries for name, field in entry.model_fields.items()}
    assert names <= {word.strip("{:,") for word in text.split()}


def test_every_key_of_openmetadata_is_explained() -> None:
    page = (CONFIGS.parent / "docs" / "openmetadata.md").read_text(encoding="utf-8")
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


ON = "openmetadata:\n  enabled: true\n"
SERVED = f"{ON}  server: {{host: 'http://om:8585'}}\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (ON, ["PATH:1: openmetadata.server.host: is not set: name the server",
              "PATH:1: openmetadata.auth.jwt_token: is not set; type jwt needs jwt_token or token_file"]),
        (f"{ON}  server: {{host: ''}}\n  auth: {{jwt_token: x}}\n", ["PATH:3: openmetadata.server.host: is not set"]),
        (f"{SERVED}  auth: {{jwt_token: ''}}\n", ["PATH:4: openmetadata.auth.jwt_token: is empty: is the variable"]),
        (f"{SERVED}  auth: {{jwt_token: '${{EMPTY}}'}}\n", ["PATH:4: openmetadata.auth.jwt_token: is empty"]),
        (f"{SERVED}  auth:\n    jwt_token: '${{SURELY_NOT_SET}}'\n", ["PATH:5: the environment variable SURELY_NOT_SET"]),
        (f"{SERVED}  auth: {{jwt_token: hunter2, token_file: /x}}\n", ["PATH:4: openmetadata.auth.jwt_token: is set, and so is"]),
        (f"{SERVED}  auth: {{type: basic, password: hunter2}}\n",
         ["PATH:4: openmetadata.auth.username: is not set; type basic needs username, password"]),
        (f"{SERVED}  auth: {{type: basic, username: me, password: ''}}\n", ["PATH:4: openmetadata.auth.password: is not set"]),
        (f"{SERVED}  auth: {{type: oauth, client_id: me, client_secret: hunter2}}\n",
         ["PATH:4: openmetadata.auth.token_url: is not set; type oauth needs token_url, client_id, client_secret"]),
    ],
)  # fmt: skip
def test_what_is_missing_is_told_once_openmetadata_is_enabled(
    write: Write, monkeypatch: pytest.MonkeyPatch, text: str, told: list[str]
) -> None:
    monkeypatch.setenv("EMPTY", "")
    path = write(text)
    lines = refusal(path).splitlines()
    assert len(lines) == len(told)
    for line, said in zip(lines, told, strict=True):
        assert line.startswith(said.replace("PATH", str(path)))
        assert "hunter2" not in line
    if "SURELY" not in text:
        assert not load_settings([write(text.replace("enabled: true", "enabled: false"))]).openmetadata.enabled


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
def test_each_way_to_prove_who_one_is_is_complete(write: Write, auth: str) -> None:
    assert load_settings([write(f"{SERVED}  auth: {auth}\n")]).openmetadata.enabled


@pytest.mark.parametrize(
    ("given", "meant"),
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
def test_the_address_of_openmetadata_is_without_its_api(write: Write, given: str, meant: str | None) -> None:
    assert (
        load_settings([write(f"openmetadata: {{server: {{host: '{given}'}}}}\n")]).openmetadata.server.host == meant
    )


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (
            "server.host",
            "om.example",
            "must be an http or https URL, such as https://openmetadata.example.com (got 'om",
        ),
        ("server.host", "ftp://om", "must be an http or https URL"),
        ("server.host", "http://", "must be an http or https URL"),
        ("server.host", "http://om:port", "must be an http or https URL"),
        ("server.host", "http://[om", "must be an http or https URL"),
        ("server.host", "http://om/?a=b", "must be an http or https URL"),
        ("server.host", "http://me:hunter2@om", "an address holds no user or password"),
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
def test_a_wrong_setting_of_openmetadata_is_told(write: Write, key: str, value: str, reason: str) -> None:
    text = value if value.startswith(("[", "{", "'", ".")) or value.isdecimal() else f"'{value}'"
    for part in reversed(("openmetadata", *key.split("."))):
        text = f"{{{part}: {text}}}"
    message = refusal(write(text))
    assert f":1: openmetadata.{key}: " in message
    assert reason in message
    assert "hunter2" not in message


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ("{namespace: a}", "openmetadata.mappings.0.service: Field required"),
        (
            "{namespace: a, service: b, schema: '{tabel}'}",
            "openmetadata.mappings.0.schema: {tabel} stands for nothing",
        ),
        ("{namespace: a, service: b, schem: c}", "unknown key openmetadata.mappings.0.schem; did you mean schema?"),
        ("{namespace: a, service: b, schema: ''}", "at least 1 character"),
    ],
)
def test_a_wrong_mapping_is_told(write: Write, mapping: str, said: str) -> None:
    assert said in refusal(write(f"openmetadata:\n  mappings:\n    - {mapping}\n"))


@pytest.mark.parametrize(
    ("frequency", "seconds"),
    [("hourly", 3_600), ("daily", 86_400), ("weekly", 604_800), ("never", None), ("90s", 90), ("15m", 900),
     ("6h", 21_600), ("2d", 172_800)],
)  # fmt: skip
def test_a_frequency_has_seconds(frequency: str, seconds: float | None) -> None:
    assert SyncSettings(sync_frequency=frequency).seconds == seconds


def test_a_file_of_the_token_is_named_by_a_variable_or_read_through_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = tmp_path / "token"
    secret.write_text("a.b.c\n")
    auth = "LINEAGE_BRIDGE__OPENMETADATA__AUTH__"
    monkeypatch.setenv(f"{auth}TOKEN_FILE", str(secret))
    assert load_settings().openmetadata.auth.token_file == secret
    monkeypatch.setenv(f"{auth}JWT_TOKEN", "to be put back after the test")
    monkeypatch.setenv(f"{auth}JWT_TOKEN_FILE", str(secret))
    token = load_settings().openmetadata.auth.jwt_token
    assert token is not None
    assert token.get_secret_value() == "a.b.c"


def test_a_secret_is_in_no_text_of_the_settings(write: Write) -> None:
    settings = load_settings(
        [write(f"{SERVED}  auth: {{jwt_token: hunter2, password: hunter2, client_secret: hunter2}}\n")]
    )
    assert "hunter2" not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"

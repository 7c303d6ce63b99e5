"""The conf of process sessions: merged settings, cached jars, quiet logging."""

from pathlib import Path

import pytest

from connectors.spark.conf import LISTENER_CLASS, ConfOptions, ListenerTransport, build_conf
from connectors.spark.releases import DEFAULT_RELEASE, TableFormat, find_release
from connectors.spark.session import process_conf, use_cached_jars, with_quiet_logging

RELEASE = find_release(DEFAULT_RELEASE)
OPTIONS = ConfOptions(RELEASE, ListenerTransport.file, location="/spool/run.ndjson", namespace="processes")
PACKAGES, LISTENERS, EXTENSIONS = "spark.jars.packages", "spark.extraListeners", "spark.sql.extensions"
DELTA = "io.delta.sql.DeltaSparkSessionExtension"
ICEBERG = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
PARAMETER_SUBSTITUTION = "spark.sql.legacy.parameterSubstitution.constantsOnly"


@pytest.mark.parametrize(
    ("catalogs", "settings", "expected"),
    [
        ([], {}, {PACKAGES: [RELEASE.listener], LISTENERS: [LISTENER_CLASS]}),
        (
            [TableFormat.delta],
            {},
            {PACKAGES: [RELEASE.listener, RELEASE.delta], EXTENSIONS: [DELTA], PARAMETER_SUBSTITUTION: ["true"]},
        ),
        (
            [TableFormat.delta, TableFormat.iceberg],
            {},
            {
                PACKAGES: [RELEASE.listener, RELEASE.delta, RELEASE.iceberg],
                EXTENSIONS: [DELTA, ICEBERG],
                LISTENERS: [LISTENER_CLASS],
                PARAMETER_SUBSTITUTION: ["true"],
            },
        ),
        (
            [TableFormat.iceberg],
            {PACKAGES: f"a:b:1, c:d:2,{RELEASE.listener}", LISTENERS: "my.Listener", EXTENSIONS: "my.Extension"},
            {
                PACKAGES: [RELEASE.listener, RELEASE.iceberg, "a:b:1", "c:d:2"],
                LISTENERS: [LISTENER_CLASS, "my.Listener"],
                EXTENSIONS: [ICEBERG, "my.Extension"],
            },
        ),
        (
            [],
            {PACKAGES: "", EXTENSIONS: "my.Extension"},
            {PACKAGES: [RELEASE.listener], EXTENSIONS: ["my.Extension"]},
        ),
        (
            [TableFormat.iceberg],
            {
                "spark.sql.catalog.lake.warehouse": "/w",
                "spark.openlineage.namespace": "mine",
                PARAMETER_SUBSTITUTION: "false",
            },
            {
                "spark.sql.catalog.lake.warehouse": ["/w"],
                "spark.openlineage.namespace": ["mine"],
                PARAMETER_SUBSTITUTION: ["false"],
            },
        ),
    ],
)
def test_settings_override_and_lists_are_joined(
    catalogs: list[TableFormat], settings: dict[str, str], expected: dict[str, list[str]]
) -> None:
    conf = process_conf(OPTIONS, catalogs, settings)
    assert {key: conf[key].split(",") for key in expected} == expected
    assert conf["spark.openlineage.transport.location"] == "/spool/run.ndjson"


def test_conf_without_table_formats_is_unchanged() -> None:
    assert process_conf(OPTIONS, [], {}) == build_conf(OPTIONS)
    assert PARAMETER_SUBSTITUTION not in process_conf(OPTIONS, [], {})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory with the listener and Delta in its caches."""
    for cache, package in ((".ivy2.5.2/jars", RELEASE.listener), (".ivy2/jars", RELEASE.delta or "")):
        jars = tmp_path / cache
        jars.mkdir(parents=True)
        (jars / "{}_{}-{}.jar".format(*package.split(":"))).touch()
    return tmp_path


def test_cached_listener_jar_is_used(home: Path) -> None:
    conf = use_cached_jars(process_conf(OPTIONS, [], {"spark.jars": "/my.jar"}), home)
    assert PACKAGES not in conf
    own_jar, listener = conf["spark.jars"].split(",")
    assert (own_jar, Path(listener).exists(), Path(listener).parent) == ("/my.jar", True, home / ".ivy2.5.2" / "jars")


@pytest.mark.parametrize(
    "settings",
    [
        process_conf(OPTIONS, [TableFormat.delta], {}),
        process_conf(OPTIONS, [], {PACKAGES: "io.openlineage:other:1"}),
        process_conf(OPTIONS, [], {PACKAGES: "odd"}),
        {"spark.master": "local"},
    ],
    ids=["package with dependencies", "package not cached", "invalid package", "no packages"],
)
def test_other_packages_are_left_to_ivy(home: Path, settings: dict[str, str]) -> None:
    assert use_cached_jars(settings, home) == settings


def test_without_cache_packages_are_left_to_ivy(tmp_path: Path) -> None:
    conf = process_conf(OPTIONS, [], {})
    assert use_cached_jars(conf, tmp_path) == conf


@pytest.mark.parametrize(("settings", "prefix"), [({}, ""), ({"spark.driver.extraJavaOptions": "-Xss4m"}, "-Xss4m ")])
def test_quiet_logging(settings: dict[str, str], prefix: str) -> None:
    (options,) = with_quiet_logging(settings).values()
    path = options.removeprefix(f"{prefix}-Dlog4j2.configurationFile=file://")
    assert Path(path).is_file()


def test_configured_logging_is_kept() -> None:
    settings = {"spark.driver.extraJavaOptions": "-Dlog4j2.configurationFile=/mine.xml"}
    assert with_quiet_logging(settings) == settings

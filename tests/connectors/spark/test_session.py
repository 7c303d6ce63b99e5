"""The conf of the session in which a process runs: what is joined, what is found on this machine, what is quiet."""

from pathlib import Path

import pytest

from connectors.spark.conf import LISTENER_CLASS, ConfOptions, ListenerTransport, build_conf
from connectors.spark.releases import DEFAULT_RELEASE, TableFormat, find_release
from connectors.spark.session import process_conf, use_cached_jars, with_quiet_logging

LINE = find_release(DEFAULT_RELEASE)
WANTED = ConfOptions(LINE, ListenerTransport.file, location="/spool/run.ndjson", namespace="processes")
PACKAGES, LISTENERS, EXTENSIONS = "spark.jars.packages", "spark.extraListeners", "spark.sql.extensions"
DELTA = "io.delta.sql.DeltaSparkSessionExtension"
ICEBERG = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
LATE = "spark.sql.legacy.parameterSubstitution.constantsOnly"


@pytest.mark.parametrize(
    ("catalogs", "given", "expected"),
    [
        ([], {}, {PACKAGES: [LINE.listener], LISTENERS: [LISTENER_CLASS]}),
        ([TableFormat.delta], {}, {PACKAGES: [LINE.listener, LINE.delta], EXTENSIONS: [DELTA], LATE: ["true"]}),
        (
            [TableFormat.delta, TableFormat.iceberg],
            {},
            {
                PACKAGES: [LINE.listener, LINE.delta, LINE.iceberg],
                EXTENSIONS: [DELTA, ICEBERG],
                LISTENERS: [LISTENER_CLASS],
                LATE: ["true"],
            },
        ),
        (
            [TableFormat.iceberg],
            {PACKAGES: f"a:b:1, c:d:2,{LINE.listener}", LISTENERS: "my.Listener", EXTENSIONS: "my.Extension"},
            {
                PACKAGES: [LINE.listener, LINE.iceberg, "a:b:1", "c:d:2"],
                LISTENERS: [LISTENER_CLASS, "my.Listener"],
                EXTENSIONS: [ICEBERG, "my.Extension"],
            },
        ),
        ([], {PACKAGES: "", EXTENSIONS: "my.Extension"}, {PACKAGES: [LINE.listener], EXTENSIONS: ["my.Extension"]}),
        (
            [TableFormat.iceberg],
            {"spark.sql.catalog.lake.warehouse": "/w", "spark.openlineage.namespace": "mine", LATE: "false"},
            {"spark.sql.catalog.lake.warehouse": ["/w"], "spark.openlineage.namespace": ["mine"], LATE: ["false"]},
        ),
    ],
)
def test_what_is_given_wins_and_lists_are_joined(
    catalogs: list[TableFormat], given: dict[str, str], expected: dict[str, list[str]]
) -> None:
    conf = process_conf(WANTED, catalogs, given)
    assert {key: conf[key].split(",") for key in expected} == expected
    assert conf["spark.openlineage.transport.location"] == "/spool/run.ndjson"


def test_without_tables_it_is_the_conf_that_people_are_given() -> None:
    assert process_conf(WANTED, [], {}) == build_conf(WANTED)
    assert LATE not in process_conf(WANTED, [], {})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in whose cache the listener is, and Delta."""
    for place, package in ((".ivy2.5.2/jars", LINE.listener), (".ivy2/jars", LINE.delta or "")):
        jars = tmp_path / place
        jars.mkdir(parents=True)
        (jars / "{}_{}-{}.jar".format(*package.split(":"))).touch()
    return tmp_path


def test_the_listener_is_named_by_its_file_where_it_was_fetched(home: Path) -> None:
    conf = use_cached_jars(process_conf(WANTED, [], {"spark.jars": "/my.jar"}), home)
    assert PACKAGES not in conf
    mine, listener = conf["spark.jars"].split(",")
    assert (mine, Path(listener).exists(), Path(listener).parent) == ("/my.jar", True, home / ".ivy2.5.2" / "jars")


@pytest.mark.parametrize(
    "given",
    [
        process_conf(WANTED, [TableFormat.delta], {}),
        process_conf(WANTED, [], {PACKAGES: "io.openlineage:other:1"}),
        process_conf(WANTED, [], {PACKAGES: "odd"}),
        {"spark.master": "local"},
    ],
    ids=["what needs others", "what was never fetched", "what is no package", "nothing"],
)
def test_everything_else_is_left_to_ivy(home: Path, given: dict[str, str]) -> None:
    assert use_cached_jars(given, home) == given


def test_where_nothing_was_fetched_ivy_does(tmp_path: Path) -> None:
    conf = process_conf(WANTED, [], {})
    assert use_cached_jars(conf, tmp_path) == conf


@pytest.mark.parametrize(("given", "before"), [({}, ""), ({"spark.driver.extraJavaOptions": "-Xss4m"}, "-Xss4m ")])
def test_spark_says_what_is_wrong_only(given: dict[str, str], before: str) -> None:
    (options,) = with_quiet_logging(given).values()
    where = options.removeprefix(f"{before}-Dlog4j2.configurationFile=file://")
    assert Path(where).is_file()


def test_who_says_how_spark_logs_is_obeyed() -> None:
    given = {"spark.driver.extraJavaOptions": "-Dlog4j2.configurationFile=/mine.xml"}
    assert with_quiet_logging(given) == given

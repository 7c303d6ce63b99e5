"""The conf made from choices: what it holds, that it passes the check, and how it is spelled."""

import ast
import itertools
import subprocess
from pathlib import Path

import pytest

from connectors.errors import ConfigError
from connectors.spark.conf import PREFIX, ConfOptions, ListenerTransport, ParentRun, build_conf
from connectors.spark.conf_check import check_conf
from connectors.spark.conf_format import format_flags, format_python, parse_defaults, write_defaults
from connectors.spark.releases import (
    DEFAULT_RELEASE,
    LISTENER_VERSION,
    SUPPORTED_RELEASES,
    SparkRelease,
    TableFormat,
    find_release,
)

PARENT = ParentRun("air", "daily.load", "01234567-89ab-7def-8123-456789abcdef")
URLS = ["http://127.0.0.1:8090", "http://127.0.0.1:8090/", "https://bridge.example/lineage/", "http://[::1]:8090"]


def wanted(**choices: object) -> ConfOptions:
    return ConfOptions(find_release(DEFAULT_RELEASE))._replace(**choices)


@pytest.mark.parametrize("line", SUPPORTED_RELEASES, ids=lambda line: line.name)
@pytest.mark.parametrize(
    ("transport", "catalog", "parent", "api_key"),
    list(itertools.product(ListenerTransport, [None, *TableFormat], [None, PARENT], [None, "k"])),
)
def test_every_conf_passes_the_check(
    line: SparkRelease,
    transport: ListenerTransport,
    catalog: TableFormat | None,
    parent: ParentRun | None,
    api_key: str | None,
) -> None:
    choices = wanted(release=line, transport=transport, catalog=catalog, parent=parent, api_key=api_key)
    if catalog and not line.package_or_none(catalog):
        with pytest.raises(ConfigError, match=f"{catalog} has no release for Spark {line.name}: use Spark 3.5"):
            build_conf(choices)
        return
    for url in URLS:
        assert check_conf(build_conf(choices._replace(url=url)), line) == []


@pytest.mark.parametrize(
    ("url", "base", "endpoint"),
    [
        (URLS[0], "http://127.0.0.1:8090", None),
        (URLS[1], "http://127.0.0.1:8090", None),
        (URLS[2], "https://bridge.example", "/lineage/api/v1/lineage"),
        (URLS[3], "http://[::1]:8090", None),
    ],
)
@pytest.mark.parametrize(
    ("transport", "at"),
    [(ListenerTransport.http, "transport."), (ListenerTransport.composite, "transport.transports.b_http.")],
)
def test_a_path_of_the_url_becomes_the_endpoint(
    url: str, base: str, endpoint: str | None, transport: ListenerTransport, at: str
) -> None:
    conf = build_conf(wanted(url=url, transport=transport))
    assert (conf[f"{PREFIX}{at}url"], conf.get(f"{PREFIX}{at}endpoint")) == (base, endpoint)


def test_the_file_has_an_event_before_http_is_tried() -> None:
    conf = build_conf(wanted(transport=ListenerTransport.composite))
    names = [key.split(".")[4] for key in conf if ".transports." in key and key.endswith(".type")]
    assert names == sorted(names) == ["a_file", "b_http"]
    assert conf[f"{PREFIX}transport.withThreadPool"] == "false"


AWKWARD = {"spark.a": "it's $HOME `x` \\ #!", "spark.b": 'two\nlines "quoted"', "spark.c": "", "spark.d": "ü😀=x"}


def in_a_shell(words: str) -> list[str]:
    said = subprocess.run(["sh", "-c", f"printf '%s\\0' {words}"], capture_output=True, text=True, check=True)
    return said.stdout.split("\0")[:-1]


def test_each_spelling_says_the_same() -> None:
    words = in_a_shell(format_flags(AWKWARD))
    assert words[::2] == ["--conf"] * 4
    assert dict(word.split("=", 1) for word in words[1::2]) == AWKWARD
    assert ast.literal_eval(format_python(AWKWARD)) == AWKWARD
    assert parse_defaults(write_defaults(AWKWARD)) == AWKWARD


@pytest.mark.parametrize(
    ("version", "name"), [("4.1", "4.1"), ("4.1.4", "4.1"), ("3.5.1", "3.5"), ("4.3.0-SNAPSHOT", "4.3")]
)
def test_a_line_is_found_by_any_version_of_it(version: str, name: str) -> None:
    assert find_release(version).name == name


@pytest.mark.parametrize("version", ["3.4", "2", "", "5.0", "four"])
def test_an_untried_line_is_refused(version: str) -> None:
    with pytest.raises(ConfigError, match=r"was not tried with the listener: use one of 3\.5, 4\.0"):
        find_release(version)


def test_the_page_lists_every_line() -> None:
    def name(package: str | None) -> str:
        return f"`{package.partition(':')[2]}`" if package else "none"

    page = (Path(__file__).parents[3] / "docs" / "guides" / "spark.md").read_text(encoding="utf-8")
    rows = [
        f"| {line.name} | {line.release} | {line.scala} | {line.oldest_java} | {name(line.iceberg)} | {name(line.delta)} |\n"
        for line in SUPPORTED_RELEASES
    ]
    assert "".join(rows) in page
    assert f"The listener is {LISTENER_VERSION}." in page

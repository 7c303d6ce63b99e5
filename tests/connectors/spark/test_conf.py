"""Generated Spark conf: content, validity and output formats."""

import ast
import itertools
import subprocess
from pathlib import Path

import pytest

from connectors.errors import ConfigError
from connectors.spark.conf import PREFIX, ConfOptions, ListenerTransport, ParentRun, build_conf
from connectors.spark.conf_check import check_conf
from connectors.spark.conf_format import format_defaults, format_flags, format_python, parse_defaults
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


def options_with(**choices: object) -> ConfOptions:
    return ConfOptions(find_release(DEFAULT_RELEASE))._replace(**choices)


@pytest.mark.parametrize("release", SUPPORTED_RELEASES, ids=lambda release: release.name)
@pytest.mark.parametrize(
    ("transport", "catalog", "parent", "api_key"),
    list(itertools.product(ListenerTransport, [None, *TableFormat], [None, PARENT], [None, "k"])),
)
def test_generated_conf_is_valid(
    release: SparkRelease,
    transport: ListenerTransport,
    catalog: TableFormat | None,
    parent: ParentRun | None,
    api_key: str | None,
) -> None:
    choices = options_with(release=release, transport=transport, catalog=catalog, parent=parent, api_key=api_key)
    if catalog and not release.package_or_none(catalog):
        with pytest.raises(ConfigError, match=f"{catalog} has no release for Spark {release.name}: use Spark 3.5"):
            build_conf(choices)
        return
    for url in URLS:
        assert check_conf(build_conf(choices._replace(url=url)), release) == []


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
    ("transport", "section"),
    [(ListenerTransport.http, "transport."), (ListenerTransport.composite, "transport.transports.b_http.")],
)
def test_url_path_becomes_endpoint(
    url: str, base: str, endpoint: str | None, transport: ListenerTransport, section: str
) -> None:
    conf = build_conf(options_with(url=url, transport=transport))
    assert (conf[f"{PREFIX}{section}url"], conf.get(f"{PREFIX}{section}endpoint")) == (base, endpoint)


def test_file_transport_precedes_http() -> None:
    conf = build_conf(options_with(transport=ListenerTransport.composite))
    names = [key.split(".")[4] for key in conf if ".transports." in key and key.endswith(".type")]
    assert names == sorted(names) == ["a_file", "b_http"]
    assert conf[f"{PREFIX}transport.withThreadPool"] == "false"


AWKWARD = {"spark.a": "it's $HOME `x` \\ #!", "spark.b": 'two\nlines "quoted"', "spark.c": "", "spark.d": "ü😀=x"}


def parse_in_shell(arguments: str) -> list[str]:
    completed = subprocess.run(
        ["sh", "-c", f"printf '%s\\0' {arguments}"], capture_output=True, text=True, check=True
    )
    return completed.stdout.split("\0")[:-1]


def test_all_formats_are_equivalent() -> None:
    arguments = parse_in_shell(format_flags(AWKWARD))
    assert arguments[::2] == ["--conf"] * 4
    assert dict(argument.split("=", 1) for argument in arguments[1::2]) == AWKWARD
    assert ast.literal_eval(format_python(AWKWARD)) == AWKWARD
    assert parse_defaults(format_defaults(AWKWARD)) == AWKWARD


@pytest.mark.parametrize(
    ("version", "name"), [("4.1", "4.1"), ("4.1.4", "4.1"), ("3.5.1", "3.5"), ("4.3.0-SNAPSHOT", "4.3")]
)
def test_find_release_by_version(version: str, name: str) -> None:
    assert find_release(version).name == name


@pytest.mark.parametrize("version", ["3.4", "2", "", "5.0", "four"])
def test_untested_release_is_rejected(version: str) -> None:
    with pytest.raises(ConfigError, match=r"is not supported with the listener: use one of 3\.5, 4\.0"):
        find_release(version)


def test_documentation_lists_every_release() -> None:
    def name(package: str | None) -> str:
        return f"`{package.partition(':')[2]}`" if package else "none"

    page = (Path(__file__).parents[3] / "docs" / "guides" / "spark.md").read_text(encoding="utf-8")
    rows = [
        f"| {release.name} | {release.release} | {release.scala} | {', '.join(map(str, release.java))} | {name(release.iceberg)} | {name(release.delta)} |\n"
        for release in SUPPORTED_RELEASES
    ]
    assert "".join(rows) in page
    assert f"The listener is {LISTENER_VERSION}." in page

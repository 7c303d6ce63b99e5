"""What the check finds wrong with a conf, and what it leaves alone."""

import pytest

from connectors.spark.conf import LISTENER_CLASS, PREFIX, ConfOptions, ListenerTransport, build_conf
from connectors.spark.conf_check import check_conf
from connectors.spark.conf_problem import ConfProblem, ProblemEffect
from connectors.spark.listener_keys import is_section, matches, nearest_key, parent_sections
from connectors.spark.releases import find_release

LINE = find_release("4.1")
SILENT, IGNORED, DOUBTFUL = ProblemEffect.silent, ProblemEffect.ignored, ProblemEffect.doubtful
PACKAGES = "spark.jars.packages"
NESTED = "transport.transports.b_http."


def conf(transport: ListenerTransport = ListenerTransport.http, without: str = "", **more: str) -> dict[str, str]:
    """Make a good conf with some keys of the listener more, and one less."""
    made = build_conf(ConfOptions(LINE, transport)) | {f"{PREFIX}{key}": value for key, value in more.items()}
    return {key: value for key, value in made.items() if key != f"{PREFIX}{without}"}


def told(given: dict[str, str]) -> list[tuple[str, ProblemEffect]]:
    return [(finding.key.removeprefix(PREFIX), finding.effect) for finding in check_conf(given, LINE)]


@pytest.mark.parametrize(
    "more",
    [
        {"appName": "[nightly]"},
        {"job.owners.team": "data"},
        {"job.tags": "a:b;c"},
        {"filter.allowedSparkNodes": "[a;b]"},
        {"facets.spark.logicalPlan.disabled": "false"},
        {"transport.headers.X-A.b": "c", "transport.urlParams.a": "b"},
        {"transport.type": "HTTP", "transport.compression": "GZIP", "transport.timeoutInMillis": " 5000 "},
        {"transport.url": "https://user:pass@bridge:8443"},
        {"transport.url": "http://bridge:8090/api/v1/lineage"},
        {"circuitBreaker.type": "asynctaskqueue", "circuitBreaker.queueSize": "5"},
        {"dataset.namespaceResolvers.a.type": "hostList", "dataset.namespaceResolvers.a.hosts": "[a;b]"},
        {"vendors.iceberg.metricsReporterDisabled": "TRUE"},
        {"metrics.registry.type": "x"},
        {"disabled": "false"},
        {f"rootParent{key}": value for key, value in
         (("JobNamespace", "a"), ("JobName", "b"), ("RunId", "01234567-89ab-7def-8123-456789abcdef"))},
    ],
    ids=str,
)  # fmt: skip
def test_what_works_is_left_alone(more: dict[str, str]) -> None:
    assert told(conf(**more)) == []


@pytest.mark.parametrize(
    ("more", "key", "effect"),
    [
        ({"namespce": "x"}, "namespce", IGNORED),
        ({"namespace": " "}, "namespace", IGNORED),
        ({"namespace": "[x]"}, "namespace", SILENT),
        ({"transport.type": "htp"}, "transport.type", SILENT),
        ({"transport.url": "localhost"}, "transport.url", SILENT),
        ({"transport.url": "127.0.0.1:8090"}, "transport.url", SILENT),
        ({"transport.url": "ftp://bridge"}, "transport.url", SILENT),
        ({"transport.url": "http://bridge:99999"}, "transport.url", SILENT),
        ({"transport.url": "http://br idge"}, "transport.url", SILENT),
        ({"transport.url": "http://[bridge"}, "transport.url", SILENT),
        ({"transport.url": "http://bridge/base"}, "transport.url", SILENT),
        ({"transport.location": "/x"}, "transport.location", IGNORED),
        ({"transport.timeoutInMillis": "5s"}, "transport.timeoutInMillis", SILENT),
        ({"transport.compression": "zstd"}, "transport.compression", SILENT),
        ({"transport.auth.type": "api_key"}, "transport.auth.apiKey", SILENT),
        ({"transport.auth.apiKey": "k"}, "transport.auth.type", SILENT),
        ({"transport.auth.type": "API_KEY", "transport.auth.apiKey": "k"}, "transport.auth.type", SILENT),
        ({"transport.auth.type": "jwt", "transport.auth.apiKey": "k"}, "transport.auth.tokenEndpoint", SILENT),
        ({"filter.rddEventsDisabled": "yes"}, "filter.rddEventsDisabled", SILENT),
        ({"filter.allowedSparkNodes": "a"}, "filter.allowedSparkNodes", SILENT),
        ({"job.name.appendDatasetName": "true"}, "job.name.appendDatasetName", SILENT),
        ({"job.owners.a.b": "x"}, "job.owners.a.b", SILENT),
        ({"columnLineage": "x"}, "columnLineage", SILENT),
        ({"vendors.iceberg": "x"}, "vendors.iceberg", SILENT),
        ({"facets.x.disabled": "yes"}, "facets.x.disabled", IGNORED),
        ({"facets.disabled": "[spark_unknown]"}, "facets.disabled", IGNORED),
        ({"circuitBreaker.queueSize": "5"}, "circuitBreaker.type", SILENT),
        ({"disabled": "true"}, "disabled", SILENT),
    ],
    ids=str,
)
def test_what_does_not_work_is_told(more: dict[str, str], key: str, effect: ProblemEffect) -> None:
    assert told(conf(**more)) == [(key, effect)]


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({f"{NESTED}foo": "x"}, f"{NESTED}foo"),
        ({f"{NESTED}headers.a.b": "x"}, f"{NESTED}headers.a.b"),
        ({f"{NESTED}url": "http://bridge/"}, f"{NESTED}url"),
        ({f"{NESTED}url": "http://bridge/base"}, f"{NESTED}url"),
        ({f"{NESTED}url": "http://b/api/v1/lineage", f"{NESTED}endpoint": "/x"}, f"{NESTED}endpoint"),
        ({"transport.transports.c.url": "http://b"}, "transport.transports.c.type"),
    ],
    ids=str,
)
def test_inside_another_transport_nothing_is_forgiven(more: dict[str, str], key: str) -> None:
    assert (key, SILENT) in told(conf(ListenerTransport.composite, **more))


@pytest.mark.parametrize(
    ("pool", "goes_on", "file", "told_of"),
    [
        ("false", "true", "z_file", [("transport.transports", DOUBTFUL)]),
        ("true", "false", "z_file", [("transport.transports", DOUBTFUL)]),
        ("true", "true", "z_file", []),
        ("false", "false", "a_file", []),
    ],
)
def test_a_file_behind_http_is_told(
    pool: str, goes_on: str, file: str, told_of: list[tuple[str, ProblemEffect]]
) -> None:
    given = conf(
        ListenerTransport.composite, **{"transport.withThreadPool": pool, "transport.continueOnFailure": goes_on}
    )
    assert told({key.replace("a_file", file): value for key, value in given.items()}) == told_of


@pytest.mark.parametrize(
    ("transport", "without", "key"),
    [
        (ListenerTransport.http, "transport.url", "transport.url"),
        (ListenerTransport.http, "transport.type", "transport.type"),
        (ListenerTransport.file, "transport.location", "transport.location"),
        (ListenerTransport.composite, f"{NESTED}url", f"{NESTED}url"),
        (ListenerTransport.composite, "transport.transports.a_file.location", "transport.transports.a_file.location"),
    ],
)
def test_what_is_missing_is_told(transport: ListenerTransport, without: str, key: str) -> None:
    assert told(conf(transport, without))[0] == (key, SILENT)


@pytest.mark.parametrize("missing", ["JobNamespace", "JobName", "RunId"])
@pytest.mark.parametrize("which", ["parent", "rootParent"])
def test_a_parent_has_all_three_names(which: str, missing: str) -> None:
    whole = {"JobNamespace": "a", "JobName": "b", "RunId": "01234567-89ab-7def-8123-456789abcdef"}
    part = {f"{which}{key}": value for key, value in whole.items() if key != missing}
    assert told(conf(**part)) == [(f"{which}{missing}", IGNORED)]


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("namespce", "namespace"),
        ("NameSpace", "namespace"),
        ("job.name.appendDatasetName", "jobName.appendDatasetName"),
        ("transport.auth.api_key", "transport.auth.apiKey"),
        ("filter.rddEventDisabled", "filter.rddEventsDisabled"),
        ("facets.disabled", "facets.<name>.disabled"),
        ("columnLineage.datasetLineageEnable", "columnLineage.datasetLineageEnabled"),
    ],
)
def test_the_nearest_key_is_named(key: str, near: str) -> None:
    given = conf(**{"transport.auth.type": "api_key", "transport.auth.apiKey": "k", key: "x"})
    [finding] = check_conf(given, LINE)
    assert finding.remedy == f"did you mean {PREFIX}{near}?"


def test_the_worst_comes_first_and_no_value_is_repeated() -> None:
    given = conf(**{"namespce": "s3cret", "transport.auth.type": "s3cret", "transport.timeoutInMillis": "s3cret"})
    found = check_conf(given | {PACKAGES: "a:b:1"}, LINE)
    order = list(ProblemEffect)
    assert [order.index(finding.effect) for finding in found] == sorted(order.index(f.effect) for f in found)
    assert not any("s3cret" in str(finding) for finding in found)


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (SILENT, "error: a is wrong; events do not arrive: do b"),
        (IGNORED, "error: a is wrong; it is ignored: do b"),
        (DOUBTFUL, "warning: a is wrong: do b"),
    ],
)
def test_a_finding_is_one_line(effect: ProblemEffect, text: str) -> None:
    assert str(ConfProblem("a", effect, "is wrong", "do b")) == text


@pytest.mark.parametrize(
    ("pattern", "key", "fits"),
    [("a.*", "a.b", True), ("a.*", "a.b.c", False), ("a.**", "a.b.c", True), ("a.b", "axb", False), ("a.**", "a", False),
     ("f.**.d", "f.x.y.d", True), ("f.**.d", "f.d", False)],
)  # fmt: skip
def test_stars_stand_for_a_word_or_for_the_rest(pattern: str, key: str, *, fits: bool) -> None:
    assert matches(pattern, key) is fits


def test_keys_stand_in_sections() -> None:
    assert parent_sections("a.b.c") == ["a", "a.b"]
    assert is_section("a.x", ["a.*.c"])
    assert not is_section("a.x.c", ["a.*.c"])
    assert nearest_key("zzz", ["abc"], 0.8) is None


@pytest.mark.parametrize(
    ("listeners", "remedy"),
    [
        ("", LISTENER_CLASS),
        ("io.openlineage.spark.agent.OpenLineageListener", LISTENER_CLASS),
        ("com.example.Mine,io.openlineage.OpenLineageSparkListener", f"com.example.Mine,{LISTENER_CLASS}"),
    ],
)
def test_a_listener_that_is_not_named_is_named_in_the_place_of_what_looks_like_it(
    listeners: str, remedy: str
) -> None:
    (finding,) = check_conf(conf() | {"spark.extraListeners": listeners})
    assert (finding.key, finding.remedy) == ("spark.extraListeners", f"set it to {remedy}")


@pytest.mark.parametrize(
    ("location", "found"), [("/a/e.ndjson", []), ("e.ndjson", [SILENT]), ("a/e.ndjson", [SILENT])]
)
def test_a_file_has_an_absolute_path(location: str, found: list[ProblemEffect]) -> None:
    given = conf(ListenerTransport.file, **{"transport.location": location})
    assert [effect for key, effect in told(given) if key == "transport.location"] == found

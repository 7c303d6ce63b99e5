"""Checks of the settings of the listener."""

import pytest

from connectors.spark.conf import LISTENER_CLASS, PREFIX, ConfOptions, ListenerTransport, build_conf
from connectors.spark.conf_check import check_conf
from connectors.spark.conf_problem import ConfProblem, ProblemEffect
from connectors.spark.listener_keys import is_section, matches_pattern, nearest_key, parent_sections
from connectors.spark.releases import find_release

RELEASE = find_release("4.1")
SILENT, IGNORED, DOUBTFUL = ProblemEffect.events_lost, ProblemEffect.setting_ignored, ProblemEffect.maybe_intended
PACKAGES = "spark.jars.packages"
NESTED = "transport.transports.b_http."


def conf(transport: ListenerTransport = ListenerTransport.http, without: str = "", **extra: str) -> dict[str, str]:
    """A valid conf with additional listener keys, and without one."""
    complete = build_conf(ConfOptions(RELEASE, transport)) | {f"{PREFIX}{key}": value for key, value in extra.items()}
    return {key: value for key, value in complete.items() if key != f"{PREFIX}{without}"}


def find_problems(conf_: dict[str, str]) -> list[tuple[str, ProblemEffect]]:
    return [(finding.key.removeprefix(PREFIX), finding.effect) for finding in check_conf(conf_, RELEASE)]


@pytest.mark.parametrize(
    "extra",
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
def test_valid_settings_have_no_problems(extra: dict[str, str]) -> None:
    assert find_problems(conf(**extra)) == []


@pytest.mark.parametrize(
    ("extra", "key", "effect"),
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
def test_invalid_settings_are_reported(extra: dict[str, str], key: str, effect: ProblemEffect) -> None:
    assert find_problems(conf(**extra)) == [(key, effect)]


@pytest.mark.parametrize(
    ("extra", "key"),
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
def test_nested_transport_settings_are_checked(extra: dict[str, str], key: str) -> None:
    assert (key, SILENT) in find_problems(conf(ListenerTransport.composite, **extra))


@pytest.mark.parametrize(
    ("pool", "continue_on_failure", "file", "expected"),
    [
        ("false", "true", "z_file", [("transport.transports", DOUBTFUL)]),
        ("true", "false", "z_file", [("transport.transports", DOUBTFUL)]),
        ("true", "true", "z_file", []),
        ("false", "false", "a_file", []),
    ],
)
def test_file_after_http_is_reported(
    pool: str, continue_on_failure: str, file: str, expected: list[tuple[str, ProblemEffect]]
) -> None:
    composite = conf(
        ListenerTransport.composite,
        **{"transport.withThreadPool": pool, "transport.continueOnFailure": continue_on_failure},
    )
    assert find_problems({key.replace("a_file", file): value for key, value in composite.items()}) == expected


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
def test_missing_settings_are_reported(transport: ListenerTransport, without: str, key: str) -> None:
    assert find_problems(conf(transport, without))[0] == (key, SILENT)


@pytest.mark.parametrize("missing", ["JobNamespace", "JobName", "RunId"])
@pytest.mark.parametrize("prefix", ["parent", "rootParent"])
def test_parent_requires_all_three_settings(prefix: str, missing: str) -> None:
    complete = {"JobNamespace": "a", "JobName": "b", "RunId": "01234567-89ab-7def-8123-456789abcdef"}
    part = {f"{prefix}{key}": value for key, value in complete.items() if key != missing}
    assert find_problems(conf(**part)) == [(f"{prefix}{missing}", IGNORED)]


@pytest.mark.parametrize(
    ("key", "nearest"),
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
def test_nearest_key_is_suggested(key: str, nearest: str) -> None:
    with_typo = conf(**{"transport.auth.type": "api_key", "transport.auth.apiKey": "k", key: "x"})
    [finding] = check_conf(with_typo, RELEASE)
    assert finding.remedy == f"did you mean {PREFIX}{nearest}?"


def test_problems_are_sorted_and_contain_no_values() -> None:
    with_problems = conf(
        **{"namespce": "s3cret", "transport.auth.type": "s3cret", "transport.timeoutInMillis": "s3cret"}
    )
    problems = check_conf(with_problems | {PACKAGES: "a:b:1"}, RELEASE)
    order = list(ProblemEffect)
    assert [order.index(finding.effect) for finding in problems] == sorted(order.index(f.effect) for f in problems)
    assert not any("s3cret" in str(finding) for finding in problems)


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (SILENT, "error: a is wrong; events are lost: do b"),
        (IGNORED, "error: a is wrong; the setting is ignored: do b"),
        (DOUBTFUL, "warning: a is wrong: do b"),
    ],
)
def test_problem_text(effect: ProblemEffect, text: str) -> None:
    assert str(ConfProblem("a", effect, "is wrong", "do b")) == text


@pytest.mark.parametrize(
    ("pattern", "key", "expected"),
    [("a.*", "a.b", True), ("a.*", "a.b.c", False), ("a.**", "a.b.c", True), ("a.b", "axb", False), ("a.**", "a", False),
     ("f.**.d", "f.x.y.d", True), ("f.**.d", "f.d", False)],
)  # fmt: skip
def test_key_patterns(pattern: str, key: str, *, expected: bool) -> None:
    assert matches_pattern(pattern, key) is expected


def test_key_sections() -> None:
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
def test_remedy_replaces_similar_listener(listeners: str, remedy: str) -> None:
    (finding,) = check_conf(conf() | {"spark.extraListeners": listeners})
    assert (finding.key, finding.remedy) == ("spark.extraListeners", f"set it to {remedy}")


@pytest.mark.parametrize(
    ("location", "expected"), [("/a/e.ndjson", []), ("e.ndjson", [SILENT]), ("a/e.ndjson", [SILENT])]
)
def test_file_path_must_be_absolute(location: str, expected: list[ProblemEffect]) -> None:
    with_location = conf(ListenerTransport.file, **{"transport.location": location})
    assert [effect for key, effect in find_problems(with_location) if key == "transport.location"] == expected

"""Checks of the listener class, packages and key prefixes."""

import pytest

from connectors.spark.conf import LISTENER_CLASS, ConfOptions, build_conf
from connectors.spark.conf_check import check_conf
from connectors.spark.conf_problem import ProblemEffect
from connectors.spark.releases import LISTENER_VERSION, find_release

RELEASE = find_release("4.1")
CONF = build_conf(ConfOptions(RELEASE))
SILENT, IGNORED, DOUBTFUL = ProblemEffect.events_lost, ProblemEffect.setting_ignored, ProblemEffect.maybe_intended
PACKAGES = "spark.jars.packages"
ICEBERG_3_5 = "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0"


@pytest.mark.parametrize(
    ("change", "key", "effect"),
    [
        ({"spark.extraListeners": "a.B"}, "spark.extraListeners", SILENT),
        ({"spark.extraListeners": LISTENER_CLASS.lower()}, "spark.extraListeners", SILENT),
        ({PACKAGES: f"io.openlineage:openlineage-spark_2.12:{LISTENER_VERSION}"}, PACKAGES, SILENT),
        ({PACKAGES: f"io.openlineage:openlineage-spark:{LISTENER_VERSION}"}, PACKAGES, SILENT),
        ({PACKAGES: "io.openlineage:openlineage-spark_2.13:1.40.0"}, PACKAGES, DOUBTFUL),
        ({PACKAGES: "a:b:1"}, PACKAGES, DOUBTFUL),
        ({PACKAGES: f"{RELEASE.listener},{ICEBERG_3_5}"}, PACKAGES, SILENT),
        ({PACKAGES: f"{RELEASE.listener},io.delta:delta-spark_2.13:4.0.0"}, PACKAGES, SILENT),
        ({"openlineage.namespace": "x"}, "openlineage.namespace", IGNORED),
        ({"spark.openLineage.namespace": "x"}, "spark.openLineage.namespace", IGNORED),
        ({"spark.opnelineage.namespace": "x"}, "spark.opnelineage.namespace", IGNORED),
        ({"transport.type": "http"}, "transport.type", IGNORED),
    ],
    ids=str,
)
def test_problems_outside_the_listener_settings(change: dict[str, str], key: str, effect: ProblemEffect) -> None:
    assert [(problem.key, problem.effect) for problem in check_conf(CONF | change, RELEASE)] == [(key, effect)]


@pytest.mark.parametrize(
    "change",
    [
        {"spark.extraListeners": f"a.B, {LISTENER_CLASS}"},
        {PACKAGES: "a:b:1", "spark.jars": f"/jars/openlineage-spark_2.13-{LISTENER_VERSION}.jar"},
        {PACKAGES: f"{RELEASE.listener},{RELEASE.iceberg},{RELEASE.delta}"},
        {"spark.sql.shuffle.partitions": "5", "spark.hadoop.fs.s3a.endpoint": "x"},
    ],
    ids=str,
)
def test_unrelated_settings_are_accepted(change: dict[str, str]) -> None:
    assert check_conf(CONF | change, RELEASE) == []


def test_table_format_without_release_is_reported() -> None:
    release = find_release("4.3")
    conf = build_conf(ConfOptions(release)) | {PACKAGES: f"{release.listener},{RELEASE.iceberg}"}
    [finding] = check_conf(conf, release)
    assert finding.problem.endswith("but iceberg has no release for Spark 4.3")
    assert finding.remedy == "remove it, or use Spark 3.5 or 4.0 or 4.1"

"""What the check finds wrong around the listener: its class, its package, those of table formats, other prefixes."""

import pytest

from connectors.spark.conf import LISTENER_CLASS, ConfOptions, build_conf
from connectors.spark.conf_check import check_conf
from connectors.spark.conf_problem import ProblemEffect
from connectors.spark.releases import LISTENER_VERSION, find_release

LINE = find_release("4.1")
CONF = build_conf(ConfOptions(LINE))
SILENT, IGNORED, DOUBTFUL = ProblemEffect.silent, ProblemEffect.ignored, ProblemEffect.doubtful
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
        ({PACKAGES: f"{LINE.listener},{ICEBERG_3_5}"}, PACKAGES, SILENT),
        ({PACKAGES: f"{LINE.listener},io.delta:delta-spark_2.13:4.0.0"}, PACKAGES, SILENT),
        ({"openlineage.namespace": "x"}, "openlineage.namespace", IGNORED),
        ({"spark.openLineage.namespace": "x"}, "spark.openLineage.namespace", IGNORED),
        ({"spark.opnelineage.namespace": "x"}, "spark.opnelineage.namespace", IGNORED),
        ({"transport.type": "http"}, "transport.type", IGNORED),
    ],
    ids=str,
)
def test_what_stands_around_the_listener_is_checked(change: dict[str, str], key: str, effect: ProblemEffect) -> None:
    assert [(one.key, one.effect) for one in check_conf(CONF | change, LINE)] == [(key, effect)]


@pytest.mark.parametrize(
    "change",
    [
        {"spark.extraListeners": f"a.B, {LISTENER_CLASS}"},
        {PACKAGES: "a:b:1", "spark.jars": f"/jars/openlineage-spark_2.13-{LISTENER_VERSION}.jar"},
        {PACKAGES: f"{LINE.listener},{LINE.iceberg},{LINE.delta}"},
        {"spark.sql.shuffle.partitions": "5", "spark.hadoop.fs.s3a.endpoint": "x"},
    ],
    ids=str,
)
def test_what_else_a_conf_holds_is_left_alone(change: dict[str, str]) -> None:
    assert check_conf(CONF | change, LINE) == []


def test_a_format_without_a_release_for_the_line_is_told() -> None:
    line = find_release("4.3")
    given = build_conf(ConfOptions(line)) | {PACKAGES: f"{line.listener},{LINE.iceberg}"}
    [finding] = check_conf(given, line)
    assert finding.problem.endswith("and iceberg has no release for Spark 4.3")
    assert finding.remedy == "leave it out, or use Spark 3.5 or 4.0 or 4.1"

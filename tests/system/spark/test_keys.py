"""The parser of the listener agrees with the key catalog about known, fatal and ignored keys."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from connectors.spark.conf import LISTENER_CLASS, PREFIX
from connectors.spark.conf_check import check_conf
from connectors.spark.conf_problem import ProblemEffect
from connectors.spark.listener_keys import UNPARSED
from connectors.spark.releases import find_release
from connectors.spark.submit import find_spark, submit_job
from tests.connectors.spark.test_conf_format import VALUES
from tests.system.spark.key_cases import Conf, conf_key, effective_cases, fatal_cases, ignored_cases

pytestmark = [pytest.mark.system("java", "spark"), pytest.mark.timeout(300)]

#: Values that need escaping in spark-defaults.conf.
VALUES_TO_ESCAPE = {f"spark.test.{number}": value for number, value in enumerate(VALUES)}


class Answers(NamedTuple):
    """Parser result per conf, known keys in the jar of the listener, and the conf that Spark read."""

    parsed: dict[str, str | None]
    keys_in_jar: list[str]
    spark_conf: dict[str, str]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Results of the real parser, from one Spark job for all confs."""
    folder = tmp_path_factory.mktemp("parser")
    cases = [*effective_cases(), *fatal_cases(), *ignored_cases()]
    confs = {conf_key(conf): conf for case in cases for conf in (case.base, case.conf)}
    request, response, log = folder / "request.json", folder / "response.json", folder / "log"
    prefixed = [{f"{PREFIX}{key}": value for key, value in conf.items()} for conf in confs.values()]
    request.write_text(json.dumps({"confs": prefixed, "keys": [f"{PREFIX}{key}" for key in UNPARSED]}))
    spark = find_spark()
    conf = {"spark.master": "local[1]", "spark.ui.enabled": "false"}
    conf["spark.jars.packages"] = find_release(spark.version).listener
    conf |= VALUES_TO_ESCAPE
    with submit_job(
        spark, Path(__file__).with_name("parse_confs.py"), [str(request), str(response)], conf, folder, log
    ) as job:
        assert job.wait(250) == 0, log.read_text()[-3000:]
    results = json.loads(response.read_text())
    return Answers(dict(zip(confs, results["parsed"], strict=True)), results["keys_in_jar"], results["spark_conf"])


@pytest.fixture
def parsed(answers: Answers) -> dict[str, str | None]:
    return answers.parsed


def effects(conf: Conf) -> set[ProblemEffect]:
    listener_conf = {f"{PREFIX}{key}": value for key, value in conf.items()} | {
        "spark.extraListeners": LISTENER_CLASS
    }
    transport = {f"{PREFIX}transport.type": "file", f"{PREFIX}transport.location": "/x"}
    return {
        problem.effect for problem in check_conf((transport if "transport" not in str(conf) else {}) | listener_conf)
    }


def test_every_known_key_takes_effect(parsed: dict[str, str | None]) -> None:
    changes: dict[str, set[bool]] = {}
    for case in effective_cases():
        assert parsed[conf_key(case.conf)] is not None, case.conf
        changed = case.conf == {} or parsed[conf_key(case.conf)] != parsed[conf_key(case.base)]
        changes.setdefault(case.name, set()).add(changed)
    assert [name for name, changed in changes.items() if True not in changed] == []


def test_fatal_confs_are_reported(parsed: dict[str, str | None]) -> None:
    for case in fatal_cases():
        assert parsed[conf_key(case.conf)] is None, case.conf
        assert ProblemEffect.events_lost in effects(case.conf), case.conf


def test_ignored_keys_are_reported(parsed: dict[str, str | None]) -> None:
    for case in ignored_cases():
        assert parsed[conf_key(case.conf)] == parsed[conf_key(case.base)] is not None, case.conf
        assert ProblemEffect.setting_ignored in effects(case.conf), case.conf


def test_keys_read_by_other_classes_are_in_the_jar(answers: Answers) -> None:
    assert answers.keys_in_jar == [f"{PREFIX}{key}" for key in UNPARSED]


def test_spark_reads_written_defaults_unchanged(answers: Answers) -> None:
    assert {key: answers.spark_conf.get(key) for key in VALUES_TO_ESCAPE} == VALUES_TO_ESCAPE

"""The catalogue of keys against the listener's own parser: what we call known, fatal and ignored, it is."""

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
from tests.system.spark.key_cases import Conf, ends, passed_over, takes_effect, whole

pytestmark = [pytest.mark.system("java", "spark"), pytest.mark.timeout(300)]

#: Values that a careless spelling would change on their way through spark-defaults.conf.
AWKWARD = {f"spark.test.{number}": value for number, value in enumerate(VALUES)}


class Answers(NamedTuple):
    """What the parser made of every conf, which words its jar holds, and the conf that Spark itself read."""

    parsed: dict[str, str | None]
    in_the_jar: list[str]
    read: dict[str, str]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Ask the real parser about every conf of this file: one start of Java for all."""
    folder = tmp_path_factory.mktemp("parser")
    cases = [*takes_effect(), *ends(), *passed_over()]
    confs = {whole(conf): conf for case in cases for conf in (case.base, case.conf)}
    asked, said, log = folder / "asked.json", folder / "said.json", folder / "log"
    prefixed = [{f"{PREFIX}{key}": value for key, value in conf.items()} for conf in confs.values()]
    asked.write_text(json.dumps({"confs": prefixed, "words": [f"{PREFIX}{key}" for key in UNPARSED]}))
    spark = find_spark()
    conf = {"spark.master": "local[1]", "spark.ui.enabled": "false"}
    conf["spark.jars.packages"] = find_release(spark.version).listener
    conf |= AWKWARD
    with submit_job(
        spark, Path(__file__).with_name("ask_parser.py"), [str(asked), str(said)], conf, folder, log
    ) as job:
        assert job.wait(250) == 0, log.read_text()[-3000:]
    found = json.loads(said.read_text())
    return Answers(dict(zip(confs, found["parsed"], strict=True)), found["in_the_jar"], found["read"])


@pytest.fixture
def parsed(answers: Answers) -> dict[str, str | None]:
    return answers.parsed


def effects(conf: Conf) -> set[ProblemEffect]:
    given = {f"{PREFIX}{key}": value for key, value in conf.items()} | {"spark.extraListeners": LISTENER_CLASS}
    sent = {f"{PREFIX}transport.type": "file", f"{PREFIX}transport.location": "/x"}
    return {finding.effect for finding in check_conf((sent if "transport" not in str(conf) else {}) | given)}


def test_every_known_key_takes_effect(parsed: dict[str, str | None]) -> None:
    shown: dict[str, set[bool]] = {}
    for case in takes_effect():
        assert parsed[whole(case.conf)] is not None, case.conf
        changed = case.conf == {} or parsed[whole(case.conf)] != parsed[whole(case.base)]
        shown.setdefault(case.what, set()).add(changed)
    assert [what for what, changed in shown.items() if True not in changed] == []


def test_what_ends_the_listener_is_told(parsed: dict[str, str | None]) -> None:
    for case in ends():
        assert parsed[whole(case.conf)] is None, case.conf
        assert ProblemEffect.silent in effects(case.conf), case.conf


def test_what_the_listener_passes_over_is_told(parsed: dict[str, str | None]) -> None:
    for case in passed_over():
        assert parsed[whole(case.conf)] == parsed[whole(case.base)] is not None, case.conf
        assert ProblemEffect.ignored in effects(case.conf), case.conf


def test_keys_that_other_classes_read_are_in_the_jar(answers: Answers) -> None:
    assert answers.in_the_jar == [f"{PREFIX}{key}" for key in UNPARSED]


def test_spark_reads_a_conf_as_it_was_written(answers: Answers) -> None:
    assert {key: answers.read.get(key) for key in AWKWARD} == AWKWARD

"""Prometheus alert rules: they use exposed metrics, name a remedy, and fire as intended."""

import re
import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.factories import dataset, run_event
from tests.standins.openmetadata import OpenMetadata, error
from tests.system.service import ROOT, Service, new_store, until
from tests.system.test_sync_kill import sync_settings

RULES = ROOT / "configs" / "prometheus" / "alerts.yaml"
PAGE = "docs/guides/operations.md"
COMPLETE = 'lineage_bridge_sync_completeness_ratio{kind="dataset",target="openmetadata"}'
#: Parts of an expression that are not metric names: labels, ranges, strings, functions, operators, numbers.
_NOT_METRICS = re.compile(
    r"\{[^}]*\}|\[[^]]*\]|\"[^\"]*\"|\b(\w+ +)?(by|without) *\([^)]*\)|\b\w+(?= *\()|\b(and|unless)\b|\b[\d.]+(e\d+)?\b"
)
_METRIC = re.compile(r"[A-Za-z_:][\w:]*")


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def metrics_in(expression: str) -> set[str]:
    return set(_METRIC.findall(_NOT_METRICS.sub(" ", expression)))


ALERTS = [rule["alert"] for rule in rules()]


@pytest.mark.parametrize("rule", rules(), ids=ALERTS)
def test_rule_has_severity_summary_and_documented_remedy(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert set(rule["annotations"]) == {"summary", "remedy"}
    link = rule["annotations"]["remedy"].rpartition(": ")[2]
    assert link == f"{PAGE}#{rule['alert'].lower()}"
    assert f"\n### {rule['alert']}\n" in (ROOT / PAGE).read_text(encoding="utf-8")


def scrape(service: Service) -> dict[str, float]:
    """Exposed series, including labels, and their values."""
    with closing(service.connect()) as connection:
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines) if name[:1] != "#"}


@pytest.mark.system
def test_rules_and_docs_match_exposed_metrics(tmp_path: Path) -> None:
    with OpenMetadata() as standin:
        standin.faults.next(error(503))  # failures are counted from the first on
        settings = sync_settings(standin) | {"OPENMETADATA__SYNC__SYNC_FREQUENCY": "1s"}
        with Service(new_store(tmp_path), **settings) as service:
            assert service.send(run_event(outputs=[dataset("made")])) == 201
            until(lambda: scrape(service).get(COMPLETE) == 1, "a comparison")
            failed = [name for name, value in scrape(service).items() if "calls_failed_total" in name and value > 0]
            assert len(failed) == 1
            exposed = {name.partition("{")[0] for name in scrape(service)}
    used = set().union(*(metrics_in(rule["expr"]) for rule in rules()))
    assert used - exposed == {"up"}
    documented = re.findall(r"^\| `(lineage_bridge_\w+)", (ROOT / PAGE).read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for name in exposed if not name.endswith("_created")} == set(documented)


#: Enough calls for the error-rate rule, and too few.
CALLS, FEW_CALLS = "0+20x600", "0+3x600"
#: Series of a healthy service.
HEALTHY = {
    'up{job="lineage-bridge"}': "1x600",
    "lineage_bridge_build_info": "1x600",
    "lineage_bridge_ready": "1x600",
    "lineage_bridge_store_healthy": "1x600",
    "lineage_bridge_oldest_pending_age_seconds": "0 40 0 3x600",
    'lineage_bridge_events_refused_total{reason="unavailable"}': "5x600",
    'lineage_bridge_events_refused_total{reason="rejected"}': "5x600",
    'lineage_bridge_events_accepted_total{merged="false"}': "0x600",
    'lineage_bridge_contract_checks_total{result="broken"}': "2x600",
    "lineage_bridge_store_free_bytes": "50e9-1e6x600",
    'lineage_bridge_sync_running{target="openmetadata"}': "1x600",
    'lineage_bridge_sync_left_alone{target="openmetadata"}': "0x540 1x5 0x60",
    'lineage_bridge_sync_oldest_waiting_age_seconds{target="openmetadata"}': "0 800 0 5x600",
    'lineage_bridge_sync_troubled{target="openmetadata"}': "0x600",
    'lineage_bridge_sync_calls_total{kind="get",target="openmetadata"}': CALLS,
    'lineage_bridge_sync_calls_total{kind="bulk",target="openmetadata"}': CALLS,
    'lineage_bridge_sync_calls_failed_total{kind="get",target="openmetadata"}': "0x600",
    'lineage_bridge_sync_calls_failed_total{kind="bulk",target="openmetadata"}': "0x540 3x600",
    COMPLETE: "1x600",
}


@pytest.mark.system("promtool")
def test_prometheus_accepts_the_rules() -> None:
    result = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True, check=False)
    assert (result.returncode, f"{len(ALERTS)} rules found" in result.stdout) == (0, True), result.stderr


@pytest.mark.system("promtool")
@pytest.mark.parametrize(
    ("changed_series", "alerts"),
    [
        ({}, []),
        ({'up{job="lineage-bridge"}': "0x600"}, ["LineageBridgeDown"]),
        ({"lineage_bridge_build_info": "_x600"}, ["LineageBridgeAbsent"]),
        ({"lineage_bridge_ready": "0x600"}, ["LineageBridgeNotReady"]),
        ({"lineage_bridge_ready": "1x598 0"}, []),
        ({"lineage_bridge_store_healthy": "0x600"}, ["LineageBridgeStoreUnhealthy"]),
        ({"lineage_bridge_oldest_pending_age_seconds": "0x590 0+30x20"}, ["LineageBridgePendingTooLong"]),
        ({'lineage_bridge_events_refused_total{reason="unavailable"}': "5x598 6x2"}, ["LineageBridgeTurnedAway"]),
        ({'lineage_bridge_events_refused_total{reason="unavailable"}': "5x500 6x100"}, []),
        ({'lineage_bridge_events_refused_total{reason="rejected"}': "0x590 1x10"}, ["LineageBridgeRefusesEvents"]),
        ({'lineage_bridge_events_accepted_total{merged="false"}': "0x590 1x10"}, ["LineageBridgeDoesNotMerge"]),
        ({'lineage_bridge_contract_checks_total{result="broken"}': "0x590 1x10"}, ["LineageBridgeContractBroken"]),
        ({"lineage_bridge_store_free_bytes": "50e9-5e7x600"}, ["LineageBridgeDiskFillsUp"]),
        ({"lineage_bridge_store_free_bytes": "9e8x600"}, ["LineageBridgeDiskNearlyFull"]),
        ({'lineage_bridge_sync_running{target="openmetadata"}': "0x600"}, ["LineageBridgeSyncStopped"]),
        ({'lineage_bridge_sync_left_alone{target="openmetadata"}': "1x600"}, ["LineageBridgeSyncLeftAlone"]),
        (
            {'lineage_bridge_sync_oldest_waiting_age_seconds{target="openmetadata"}': "0+60x600"},
            ["LineageBridgeSyncPendingTooLong"],
        ),
        (
            {
                'lineage_bridge_sync_oldest_waiting_age_seconds{target="openmetadata"}': "0+60x600",
                'lineage_bridge_sync_left_alone{target="openmetadata"}': "1x600",
            },
            ["LineageBridgeSyncLeftAlone"],  # explains the waiting items
        ),
        ({'lineage_bridge_sync_troubled{target="openmetadata"}': "1x600"}, ["LineageBridgeSyncRefused"]),
        (
            {'lineage_bridge_sync_calls_failed_total{kind="bulk",target="openmetadata"}': "0+1x600"},
            ["LineageBridgeSyncCallsFail"],
        ),
        (
            {
                'lineage_bridge_sync_calls_total{kind="get",target="openmetadata"}': "0x600",
                'lineage_bridge_sync_calls_total{kind="bulk",target="openmetadata"}': FEW_CALLS,
                'lineage_bridge_sync_calls_failed_total{kind="bulk",target="openmetadata"}': "0x570 1x600",
            },
            [],
        ),
        ({COMPLETE: "0.999x600"}, ["LineageBridgeSyncIncomplete"]),
        ({COMPLETE: "1x500 0.9x60 1x600"}, []),
        ({COMPLETE: "_x600"}, []),
    ],
)
def test_rules_fire(tmp_path: Path, changed_series: dict[str, str], alerts: list[str]) -> None:
    shutil.copy(RULES, tmp_path)
    test_case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in (HEALTHY | changed_series).items()],
        "promql_expr_test": [
            {
                "expr": 'sum by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": "600m",
                "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in alerts],
            }
        ],
    }
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump({"rule_files": [RULES.name], "tests": [test_case]}))
    result = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.system("promtool")
def test_every_rule_is_tested() -> None:
    (table,) = (mark for mark in test_rules_fire.pytestmark if mark.name == "parametrize")
    assert {name for _, alerts in table.args[1] for name in alerts} == set(ALERTS)

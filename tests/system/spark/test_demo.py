"""`make demo` with and without Spark."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.service import ROOT, until

_SECONDS = 180


def run_demo(home: Path, **environment: str) -> str:
    """Run the demo until it waits for Ctrl-C; return its output."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    screen = home.with_name("screen.log")
    with screen.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bridge.demo", str(home)],
            cwd=ROOT, env=os.environ | {"LINEAGE_BRIDGE__SERVER__PORT": str(port)} | environment, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        until(
            lambda: "Ctrl-C to stop it" in screen.read_text() or process.poll() is not None,
            "the demo",
            _SECONDS,
        )
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0, screen.read_text()
    finally:
        process.terminate()
        process.wait(20)
    return screen.read_text()


@pytest.mark.system("java", "spark")
@pytest.mark.timeout(300)
def test_demo_runs_processes_and_job_and_prints_lineage(tmp_path: Path) -> None:
    home = tmp_path / "demo"
    screen = run_demo(home)
    lake = home / "lake"
    for expected in (
        "  passed  referential of customer_id on orders: 0 rows without a match in reachable.id",
        "exit 7, as expected",
        "error: customers below the least on revenue: 1; expected 0",
        f"file {lake}/revenue\n├─ <- file {lake}/customers   [demo demo.report, ",
        f"customer  <- file {lake}/customers.email  DIRECT/TRANSFORMATION [masked]",
        f"amount  <- file {lake}/orders.amount  DIRECT/AGGREGATION",
        f"customers.csv\n└─ -> file {lake}/customers   [demo demo.clean, ",
        f"      └─ -> file {lake}/top   [demo top, column]",
        "  publish  - -> ",
        "spark conf",
    ):
        assert expected in screen
    runs = [line.split() for line in screen.partition("$ lineage-bridge runs\n")[2].splitlines() if " demo " in line]
    assert [(run[2], *run[4:-3], run[-1]) for run in runs] == [
        ("FAILED", "demo.report"),
        ("SUCCESS", "3", "top"),
        ("SUCCESS", "8", "demo.report"),
        ("SUCCESS", "9", "demo.clean"),
    ]
    assert len(list((lake / "revenue").iterdir())) == 2, (
        "the version with the failed check is stored but not published"
    )


@pytest.mark.system
@pytest.mark.timeout(300)
def test_demo_without_spark_ingests_captured_events(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "pyspark.py").write_text("raise ImportError('not here')\n")
    screen = run_demo(tmp_path / "demo", PYTHONPATH=str(broken))
    assert "Spark cannot run here: " in screen
    assert "pip install 'lineage-bridge[spark]'" in screen
    assert "file /data/out/bands" in screen

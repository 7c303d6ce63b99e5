"""Measures the overhead of the listener for a Spark job, with a service that is up, slow, unresponsive or down.

python -m benchmarks.spark_overhead              each case three times, about ten minutes
python -m benchmarks.spark_overhead --quick      each case once
"""

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from benchmarks.intake import free_port, services
from connectors.spark.conf import ConfOptions, ListenerTransport, build_conf
from connectors.spark.releases import find_release
from connectors.spark.submit import LOCAL_CONF, SparkInstallation, find_spark, submit_job

_JOB = Path(__file__).with_name("spark_job.py")
_SLOW_SECONDS = 0.2
_UNRESPONSIVE_SECONDS = 60.0


class Measurement(NamedTuple):
    """Seconds of the actions of a job, and from the last action to its exit."""

    actions: float
    stop: float


class Case(NamedTuple):
    """One way to run the job; without a transport there is no listener."""

    name: str
    transport: ListenerTransport | None = None
    service: str = ""


CASES = (
    Case("without the listener"),
    Case("file", ListenerTransport.file),
    Case("http, service up", ListenerTransport.http, "up"),
    Case("file and http, service up", ListenerTransport.composite, "up"),
    Case(f"http, responds after {_SLOW_SECONDS} s", ListenerTransport.http, "slow"),
    Case("http, service down", ListenerTransport.http, "down"),
    Case("file and http, service down", ListenerTransport.composite, "down"),
    Case("http, never responds", ListenerTransport.http, "unresponsive"),
)


@contextmanager
def _responding_late(seconds: float) -> Iterator[str]:
    stopped = threading.Event()

    class Late(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            stopped.wait(seconds)
            with suppress(OSError):  # the listener has given up by then
                self.send_response(201)
                self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - name given by http.server
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Late)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        stopped.set()
        server.shutdown()


@contextmanager
def _service(kind: str, folder: Path) -> Iterator[str]:
    """Run the service of a case; yield its URL."""
    if kind == "up":
        with services(1, f"sqlite:///{folder / 'store.db'}") as (targets, _):
            yield f"http://127.0.0.1:{targets[0].port}"
    elif kind in ("slow", "unresponsive"):
        with _responding_late(_SLOW_SECONDS if kind == "slow" else _UNRESPONSIVE_SECONDS) as url:
            yield url
    else:
        yield f"http://127.0.0.1:{free_port()}"


def measure(spark: SparkInstallation, case: Case) -> Measurement:
    """Run the job once."""
    with tempfile.TemporaryDirectory() as temporary, _service(case.service, Path(temporary)) as url:
        folder = Path(temporary)
        conf = LOCAL_CONF | {"spark.sql.warehouse.dir": str(folder / "warehouse")}
        if case.transport:
            release = find_release(spark.version)
            conf |= build_conf(ConfOptions(release, case.transport, url=url, location=str(folder / "events.ndjson")))
        log = folder / "job.log"
        process = submit_job(spark, _JOB, [temporary], conf, folder, log)
        assert process.wait() == 0, log.read_text(errors="replace")[-3000:]
        exited_at = time.time()
        times = json.loads((folder / "times.json").read_text(encoding="utf-8"))
    return Measurement(times["actions"], exited_at - times["ended"])


def main() -> None:
    """Print seconds, and ratios to the job without the listener."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    rounds = 1 if parser.parse_args().quick else 3
    spark = find_spark()
    results: dict[Case, list[Measurement]] = {}
    for _ in range(rounds):
        for case in CASES:
            results.setdefault(case, []).append(measure(spark, case))
    floor = statistics.median(run.actions for run in results[CASES[0]])
    print(f"{'':32} {'actions':>9} {'ratio':>6} {'end':>8}")
    for case in CASES:
        actions = statistics.median(run.actions for run in results[case])
        stop = statistics.median(run.stop for run in results[case])
        print(f"{case.name:32} {actions:7.2f} s {actions / floor:6.2f} {stop:6.2f} s", flush=True)


if __name__ == "__main__":
    main()

"""Measures what the listener costs a Spark job: without it, and with a service that is up, slow, silent or dead.

python -m benchmarks.spark_overhead              every case three times, about ten minutes
python -m benchmarks.spark_overhead --quick      every case once
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
_SILENT_SECONDS = 60.0


class Took(NamedTuple):
    """How long a job's actions took, and how long its end waited for the listener."""

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
    Case(f"http, answers after {_SLOW_SECONDS} s", ListenerTransport.http, "slow"),
    Case("http, nobody listens", ListenerTransport.http, "dead"),
    Case("file and http, nobody listens", ListenerTransport.composite, "dead"),
    Case("http, never answers", ListenerTransport.http, "silent"),
)


@contextmanager
def _answering_late(seconds: float) -> Iterator[str]:
    ended = threading.Event()

    class Late(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            ended.wait(seconds)
            with suppress(OSError):  # the listener has given up by then
                self.send_response(201)
                self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Late)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        ended.set()
        server.shutdown()


@contextmanager
def _service(kind: str, folder: Path) -> Iterator[str]:
    """Run what stands behind the URL until the block ends."""
    if kind == "up":
        with services(1, f"sqlite:///{folder / 'store.db'}") as (targets, _):
            yield f"http://127.0.0.1:{targets[0].port}"
    elif kind in ("slow", "silent"):
        with _answering_late(_SLOW_SECONDS if kind == "slow" else _SILENT_SECONDS) as url:
            yield url
    else:
        yield f"http://127.0.0.1:{free_port()}"


def measure(spark: SparkInstallation, case: Case) -> Took:
    """Run the job once."""
    with tempfile.TemporaryDirectory() as named, _service(case.service, Path(named)) as url:
        folder = Path(named)
        conf = LOCAL_CONF | {"spark.sql.warehouse.dir": str(folder / "warehouse")}
        if case.transport:
            line = find_release(spark.version)
            conf |= build_conf(ConfOptions(line, case.transport, url=url, location=str(folder / "events.ndjson")))
        log = folder / "job.log"
        process = submit_job(spark, _JOB, [named], conf, folder, log)
        assert process.wait() == 0, log.read_text(errors="replace")[-3000:]
        ended = time.time()
        told = json.loads((folder / "took.json").read_text(encoding="utf-8"))
    return Took(told["actions"], ended - told["ended"])


def main() -> None:
    """Measure and print: seconds, and the ratio to the job without the listener."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    rounds = 1 if parser.parse_args().quick else 3
    spark = find_spark()
    took: dict[Case, list[Took]] = {}
    for _ in range(rounds):
        for case in CASES:
            took.setdefault(case, []).append(measure(spark, case))
    floor = statistics.median(one.actions for one in took[CASES[0]])
    print(f"{'':32} {'actions':>9} {'ratio':>6} {'end':>8}")
    for case in CASES:
        actions = statistics.median(one.actions for one in took[case])
        stop = statistics.median(one.stop for one in took[case])
        print(f"{case.name:32} {actions:7.2f} s {actions / floor:6.2f} {stop:6.2f} s", flush=True)


if __name__ == "__main__":
    main()

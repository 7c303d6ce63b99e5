"""The demonstration: a service of its own, real Spark events, and the lineage they make."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from bridge.settings import PREFIX
from connectors.openlineage.files import event_files, open_events, read_records
from connectors.openlineage.http import EventClient

_HERE = Path(__file__).parent.parent
_EVENTS = _HERE / "tests" / "data" / "events"
_HOME = _HERE / ".demo"
_START_SECONDS = 20
_ASKED = (
    ("file", "/data/out/bands", "--direction", "upstream", "--depth", "5", "--granularity", "step"),
    ("file", "/data/lake/customers", "--direction", "downstream", "--depth", "3"),
)


def main() -> int:
    """Run the demonstration until Ctrl-C."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    port = os.environ.get(f"{PREFIX}SERVER__PORT", "8090")
    url = f"http://127.0.0.1:{port}"
    _HOME.mkdir(exist_ok=True)
    os.environ[f"{PREFIX}STORE__URL"] = f"sqlite:///{_HOME / 'store.db'}"
    with EventClient(url) as client:
        if client.ready():
            print(f"Something already answers on {url}: stop it, or set {PREFIX}SERVER__PORT.", file=sys.stderr)
            return 1
        service = subprocess.Popen(_command("serve", "--host", "127.0.0.1", "--port", port))
        try:
            return _show(client, service, url)
        except KeyboardInterrupt:
            return 0
        finally:
            service.terminate()
            service.wait()


def _show(client: EventClient, service: "subprocess.Popen[bytes]", url: str) -> int:
    deadline = time.monotonic() + _START_SECONDS
    while not client.ready():
        if service.poll() is not None or time.monotonic() > deadline:
            print("The service did not start: see its message above.", file=sys.stderr)
            return 1
        time.sleep(0.05)
    payloads = []
    for path in event_files([_EVENTS / "spark-4.1.4"]):
        with open_events(path) as file:
            payloads += [record.payload for record in read_records(file)]
    begun = time.monotonic()
    taken = sum(answer.status == 201 for answer in client.send_all(payloads))
    print(f"\n{taken} of {len(payloads)} real Spark events taken in {time.monotonic() - begun:.1f} s.")
    for question in _ASKED:
        print(f"\n$ lineage-bridge lineage {' '.join(question)}", flush=True)
        subprocess.run(_command("lineage", *question), check=True)
    print(f"\nThe service stays up on {url}: point a Spark listener or OPENLINEAGE_URL at it. Ctrl-C ends it.")
    sys.stdout.flush()
    return service.wait()


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "bridge", *words]


if __name__ == "__main__":
    sys.exit(main())

"""An address as a target of the reconciler, which is told how each run ends: the least that a target can be."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from bridge.store.database import Database
from bridge.store.graph import Graph
from bridge.sync.item import Failed, Item, Outcome, Remote, Settled, as_it_was, fingerprint, is_known
from bridge.sync.items import Items
from bridge.sync.runs import StoredRun, read_runs
from bridge.sync.status import read_status
from bridge.sync.target import Compared, Meaning, Meant, Owed, Pushed, Step, TargetSettings
from bridge.sync.workers import Workers
from connectors.webhook.client import Webhook
from mappers.errors import LineageBridgeError
from mappers.folding import FoldingRule
from mappers.when import iso

NAME = "webhook"
_AT_ONCE, _THREADS = 100, 4


class _Told(NamedTuple):
    """What is to be told of a run."""

    item: Item
    body: dict[str, Any]
    mark: bytes


class EndedRuns:
    """Marks of runs mean these runs, and nothing else means anything."""

    def of(self, marks: Mapping[str, set[bytes]]) -> Meant:
        """Say which runs marks mean."""
        return Meant({("run", key) for key in marks.get("run", ())})


class WebhookTarget:
    """Tells an address how runs end. Not for several threads at once."""

    name = NAME
    kinds = {"run": _AT_ONCE}  # noqa: RUF012 - fixed
    slow: AbstractSet[str] = frozenset()
    compared: AbstractSet[str] = frozenset()

    def __init__(
        self, db: Database, org: str, client: Webhook, items: Items, rule: FoldingRule, states: Collection[str]
    ) -> None:
        self._db = db
        self._org = org
        self._client = client
        self._items = items
        self._rule = rule
        self._states = frozenset(states)
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix=NAME)
        self._workers = Workers(self._pool, client.probe)
        self.settings = TargetSettings(client.url, ",".join(sorted(states)))
        self.meaning: Meaning = EndedRuns()

    def prepare(self) -> None:
        """Make nothing ready: all that is asked of the store lies ready."""

    def probe(self) -> None:
        """Ask whether anybody is there."""
        self._client.probe()

    def push(self, kind: str, items: Sequence[Item]) -> Pushed:  # noqa: ARG002 - there is one kind only
        """Tell how runs ended, each once; one that ends otherwise after all is told again."""
        self._workers.begin()
        found = self._wanted(items)
        told = self._workers.map(self._tell, [one for one in found if isinstance(one, _Told)], _failed)
        return Pushed([*(one for one in found if isinstance(one, Settled)), *told])

    def plan(self, items: Sequence[Item]) -> list[Step]:
        """Say what would be told."""
        wanted = [one for one in self._wanted(items) if isinstance(one, _Told)]
        return [Step("create", "run", f"{one.body['job']['name']} {one.body['state']}") for one in wanted]

    def owed(self) -> Iterator[Owed]:
        """Count what shall be told."""
        return (Owed(*counts) for counts in self._items.owed())

    def compare(self) -> Iterator[Compared]:
        """Compare nothing: what was told cannot be read."""
        return iter(())

    def close(self) -> None:
        """End the threads, and close the connections."""
        self._pool.shutdown()
        self._client.close()

    def _wanted(self, items: Sequence[Item]) -> list[_Told | Settled]:
        runs = read_runs(self._db, self._org, self._rule, [item.key for item in items])
        names = Graph(self._db, self._org).jobs({run.job for run in runs.values()})
        since = read_status(self._db, self._org, NAME).enabled_at or 0
        found: list[_Told | Settled] = []
        for item in items:
            run = runs.get(item.key)
            if run is None or run.status not in self._states:
                found.append(item.linked(Outcome.UNWANTED, "it has not ended so, or another run stands for it"))
            elif (run.ended or 0) < since:
                found.append(item.linked(Outcome.UNWANTED, "it ended before anybody wanted to hear of it"))
            else:
                body = _body(run, *names[run.job])
                mark = fingerprint([body["run"], body["state"]])
                found.append(as_it_was(item) if is_known(item, mark) else _Told(item, body, mark))
        return found

    def _tell(self, told: _Told) -> Settled | Failed:
        self._client.send(told.body, told.mark.hex())
        remote = Remote("run", told.body["run"], told.body["job"]["name"])
        return Settled(told.item, Outcome.PUSHED, None, told.mark, remote, ours=True)


def _body(run: StoredRun, namespace: str, name: str) -> dict[str, Any]:
    return {
        "job": {"namespace": namespace, "name": name},
        "run": run.run_uuid,
        "state": run.status,
        "startedAt": iso(run.began),
        "endedAt": iso(run.ended) if run.ended is not None else None,
        "error": run.error,
    }


def _failed(told: _Told, error: LineageBridgeError) -> Settled | Failed:
    return Failed(told.item, error, told.body, told.mark)

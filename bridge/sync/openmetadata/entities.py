"""Brings entities to OpenMetadata: made, brought up to date, or used as others made them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bridge.sync.item import Failed, Outcome, Remote, Settled, fingerprint
from bridge.sync.items import Items
from bridge.sync.openmetadata.directory import Directory, column_paths
from bridge.sync.openmetadata.parents import Parents, key_of
from bridge.sync.openmetadata.resolution import Resolved, Resolver, known
from bridge.sync.openmetadata.rules import Rules
from bridge.sync.openmetadata.update import Update, read, update
from bridge.sync.openmetadata.wanted import Wanted
from bridge.sync.target import Step
from bridge.sync.workers import Workers
from connectors.openmetadata.calls import Entity
from connectors.openmetadata.client import OpenMetadata
from mappers.errors import LineageBridgeError, TargetBusy, TargetRefused
from mappers.openmetadata.fqn import quote

_REFUSED, _NOT_FOUND, _SERVER_FAILED = 400, 404, 500
#: How many bulks are sent at once: more make a server slower.
_BULKS = 2


class Entities:
    """Pushes entities of any kind; calls run in the threads of a pool. Not for several threads at once."""

    def __init__(
        self,
        client: OpenMetadata,
        directory: Directory,
        rules: Rules,
        items: Items,
        workers: Workers,
        clock: Callable[[], int],
    ) -> None:
        self._client = client
        self._items = items
        self._directory = directory
        self._parents = Parents(client, rules.create)
        self._resolver = Resolver(directory, self._parents, items, workers)
        self._rules = rules
        self._workers = workers
        self._clock = clock

    def push(self, wanted: Sequence[Wanted]) -> list[Settled | Failed]:
        """Make entities what they shall be; what did not change since it was pushed is left alone."""
        results, resolved = self._looked_at(wanted)
        results += self._workers.map(self._linked, [one for one in resolved if not one.is_ours], Resolved.failed)
        updates = self._updates([one for one in resolved if one.is_ours])
        results += [one for one in updates if isinstance(one, Failed)]
        ready = [_begun(one) for one in updates if isinstance(one, Update)]
        self._items.begin((one.resolved.wanted.item, one.resolved.wanted.item.detail) for one in ready)
        results += self._put(ready)
        return results

    def plan(self, wanted: Sequence[Wanted]) -> tuple[list[Step], list[Settled | Failed], dict[bytes, str]]:
        """Say what a push would do, what needs nothing done, and which items would stand for which names then."""
        results, resolved = self._looked_at(wanted)
        new = self._parents.missing([one.choice.parents for one in resolved if one.there is None])
        steps = [_step(one) for one in resolved]
        named = {one.wanted.item.key: step.name for one, step in zip(resolved, steps, strict=True)}
        return [*(Step("create", one.collection, one.fqn) for one in new), *steps], results, named

    def given_up(self, settled: Sequence[Settled]) -> tuple[list[Settled | Failed], list[Remote]]:
        """Find what was about to be made when nobody came back to tell, of things that shall not be there by now."""
        results: list[Settled | Failed] = []
        left: list[Remote] = []
        for one in settled:
            detail = dict(one.item.detail)
            begun, collection = detail.pop("making", None), detail.pop("making_in", None)
            if one.outcome is not Outcome.UNWANTED or not begun or not collection:
                results.append(one)
                continue
            try:
                left += self._directory.find(collection, [begun]).values()
            except LineageBridgeError as error:
                results.append(Failed(one.item, error))
            else:
                results.append(one._replace(detail=detail))
        return results, left

    def _looked_at(self, wanted: Sequence[Wanted]) -> tuple[list[Settled | Failed], list[Resolved]]:
        """Settle what needs no call, and find where the others lie."""
        now = self._clock()
        results: list[Settled | Failed] = []
        changed = []
        for one in wanted:
            settled = known(one, now)
            if settled is None:
                changed.append(one)
            else:
                results.append(settled)
        found = self._resolver.resolve(changed)
        resolved = [one for one in found if isinstance(one, Resolved)]
        return results + [one for one in found if not isinstance(one, Resolved)], resolved

    def _linked(self, resolved: Resolved) -> Settled | Failed:
        """Use what others made as it is: its columns are its own."""
        entity = read(self._client, resolved)
        if entity is None or resolved.there is None:
            return resolved.failed(TargetBusy("it was deleted just now", _NOT_FOUND))
        detail = {"columns": [list(path) for path in sorted(column_paths(entity))]} | _tasks_of(entity)
        return _settled(resolved, resolved.there, detail, "made by others: used as it is", ours=False)

    def _updates(self, ours: Sequence[Resolved]) -> list[Update | Failed]:
        """Make the parents, then prepare the requests; of what is there already, it is read first."""
        failed = self._parents.ensure([one.choice.parents for one in ours], self._workers)
        failures: list[Update | Failed] = []
        ready: list[Resolved] = []
        for one in ours:
            error = next(filter(None, map(failed.get, map(key_of, one.choice.parents))), None)
            if error is None:
                ready.append(one)
            else:
                failures.append(one.failed(error))
        return failures + self._workers.map(self._update, ready, Resolved.failed)

    def _update(self, resolved: Resolved) -> Update | Failed:
        if resolved.there is None:
            return Update(resolved, resolved.choice.own.body)
        return update(self._client, resolved, with_columns=self._rules.update_on_schema_change)

    def _put(self, updates: Sequence[Update]) -> Iterator[Settled | Failed]:
        """Send requests in batches, two at once, and find the ids of what is new."""
        by_collection: dict[str, list[Update]] = {}
        for one in updates:
            by_collection.setdefault(one.resolved.choice.collection, []).append(one)
        size = self._rules.batch_size
        for collection, all_of in by_collection.items():
            batches = [all_of[i : i + size] for i in range(0, len(all_of), size)]
            taken: list[Update] = []
            for i in range(0, len(batches), _BULKS):
                for batch in self._workers.map(self._send, batches[i : i + _BULKS], _failed):
                    yield from (one for one in batch if isinstance(one, Failed))
                    taken += [one for one in batch if isinstance(one, Update)]
            yield from self._identified(collection, taken)

    def _send(self, batch: Sequence[Update]) -> list[Update | Failed]:
        """Send a batch; one that is refused as a whole is halved until the culprit is found."""
        collection = batch[0].resolved.choice.collection
        try:
            rows = self._client.put_bulk(collection, [one.body for one in batch], _fqn)
        except LineageBridgeError as error:
            failed = isinstance(error, TargetBusy) and error.status == _SERVER_FAILED
            theirs = isinstance(error, TargetBusy) and not (failed and self._workers.is_there())
            if len(batch) > 1 and isinstance(error, TargetRefused | TargetBusy) and not theirs:
                half = len(batch) // 2
                return self._send(batch[:half]) + self._send(batch[half:])
            return _failed(batch, self._workers.failed(error))
        if any(row.error for row in rows):
            self._parents.forget()  # perhaps one of them is gone
        return [
            one.resolved.failed(_row_error(row.error), one.body) if row.error else one
            for one, row in zip(batch, rows, strict=True)
        ]

    def _identified(self, collection: str, taken: Sequence[Update]) -> Iterator[Settled | Failed]:
        """Settle what was taken, under the ids that it has: those of new entities are read back."""
        there = {one.resolved.there.name: one.resolved.there for one in taken if one.resolved.there}
        new = [one.resolved.choice.own.fqn for one in taken if one.resolved.there is None]
        try:
            there |= self._directory.find(collection, new, anew=True)
        except LineageBridgeError as error:
            yield from (one.resolved.failed(error, one.body) for one in taken)
            return
        for one in taken:
            resolved = one.resolved
            name = resolved.there.name if resolved.there else resolved.choice.own.fqn
            if name not in there:
                lost = TargetBusy(f"the server took {name}, but does not have it", _NOT_FOUND)
                yield resolved.failed(lost, one.body)
                continue
            detail = {"description": one.body.get("description"), "shape": _shape(one)} | _tasks_of(one.body)
            notes = "; ".join(filter(None, (one.note, *resolved.wanted.notes))) or None
            yield _settled(resolved, there[name], detail, notes, ours=True)

    def forget(self) -> None:
        """Look for everything anew."""
        self._directory.forget()
        self._parents.forget()


def _step(resolved: Resolved) -> Step:
    collection, there = resolved.choice.collection, resolved.there
    if there is None:
        return Step("create", collection, resolved.choice.own.fqn)
    return Step("change" if resolved.is_ours else "use", collection, there.name)


def _fqn(body: Entity) -> str:
    """Name a row of a bulk as the server tells of it."""
    holder = next(str(body[key]) for key in ("databaseSchema", "service", "apiCollection") if key in body)
    return f"{holder}.{quote(body['name'])}"


def _tasks_of(entity: Entity) -> dict[str, Any]:
    """Name the tasks of a pipeline, of which statuses may speak."""
    tasks = [str(task["name"]) for task in entity.get("tasks") or ()]
    return {"tasks": tasks} if tasks else {}


def _failed(batch: Sequence[Update], error: LineageBridgeError) -> list[Update | Failed]:
    return [one.resolved.failed(error, one.body) for one in batch]


def _settled(resolved: Resolved, there: Remote, detail: dict[str, Any], note: str | None, *, ours: bool) -> Settled:
    wanted = resolved.wanted
    return Settled(wanted.item, Outcome.PUSHED, note, wanted.fingerprint, there, ours, detail)


def _begun(update: Update) -> Update:
    """Note what is about to be made, whatever becomes of it: what is found there later is ours."""
    resolved, wanted = update.resolved, update.resolved.wanted
    if resolved.there is not None:
        return update
    making = {"making": resolved.choice.own.fqn, "making_in": resolved.choice.collection}
    item = wanted.item._replace(detail={**wanted.item.detail, **making})
    return update._replace(resolved=resolved._replace(wanted=wanted._replace(item=item)))


def _row_error(said: str) -> LineageBridgeError:
    """Tell a row that is wrong from one whose parent is gone: that is made anew."""
    return TargetBusy(said, _NOT_FOUND) if "not found" in said else TargetRefused(said, _REFUSED)


def _shape(update: Update) -> str:
    """Give what changes whenever the columns on the server do: edges between them must be written again then."""
    before = update.resolved.wanted.item.detail.get("shape")
    return (
        before if before and not update.reshaped else fingerprint([sorted(column_paths(update.body)), before]).hex()
    )

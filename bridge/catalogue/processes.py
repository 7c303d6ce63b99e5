"""The processes that are registered."""

import msgspec

from bridge.catalogue.history import RunRecord, tell_run
from bridge.catalogue.question import After, Limit, Page, Question, View, after, page
from bridge.catalogue.registry import now_micros
from bridge.catalogue.things import Thing, write_id
from bridge.registry.definitions import Definition, Definitions
from bridge.store.owners import owners_of
from bridge.store.runs import newest_runs
from mappers.when import iso


class RegisteredProcess(Thing, frozen=True):
    """A process with the definition that is in effect, and how its last run went."""

    version: str
    registered_at: str
    registered_by: str
    #: Who the definition says owns it; where it says nothing, who events say does.
    owners: list[str]
    #: What it may be started by: SCHEDULED, EVENT, MANUAL or HYBRID; null where the definition does not say.
    trigger_mode: str | None
    last_run: RunRecord | None


class Processes(Question[Page[RegisteredProcess]], frozen=True, kw_only=True):
    """The processes that are registered, by their names, and how the last run of each went."""

    path = "/processes"
    answer = Page[RegisteredProcess]
    limit: Limit = 100
    after: After = None

    def answered(self, view: View) -> Page[RegisteredProcess]:
        """Read a page."""
        behind = after(self.after, tuple[str, str]) or ("", "")
        definitions = Definitions(view.db, view.org, now_micros).all_active("process", self.limit + 1, behind)
        shown, following = page(definitions, self.limit, lambda one: (one.namespace, one.name))
        owners = owners_of(view.db, view.org, [one.process for one in shown])
        return Page([_told(view, one, owners.get(one.process, [])) for one in shown], following)


class _Process(msgspec.Struct, frozen=True):
    owner: str | None = None
    trigger_mode: str | None = None


class _File(msgspec.Struct, frozen=True):
    process: _Process = _Process()


_decoder = msgspec.json.Decoder(_File)


def _told(view: View, one: Definition, owners: list[str]) -> RegisteredProcess:
    said = _read(one.definition)
    runs = newest_runs(view.db, view.org, 1, job=one.process)
    return RegisteredProcess(
        id=write_id(one.process),
        namespace=one.namespace,
        name=one.name,
        version=one.version,
        registered_at=iso(one.at),
        registered_by=one.by,
        owners=[said.owner] if said.owner else owners,
        trigger_mode=said.trigger_mode,
        last_run=tell_run(view, runs[0]) if runs else None,
    )


def _read(definition: str) -> _Process:
    """Read what a process file says; a definition may be any object."""
    try:
        return _decoder.decode(definition).process
    except msgspec.ValidationError:
        return _Process()

"""An estate into the store: what changed is told, versioned, and retired once it is defined no more."""

from typing import NamedTuple

from bridge.intake.reading import Reader
from bridge.intake.taking import take_events
from bridge.registry.registry import Registry
from bridge.store.writer import Writer
from mappers.legacy.jil.estate import Estate
from mappers.legacy.jil.events import Telling, definition_of, tell_gone, tell_job

_SOURCE = "autosys scan"


class Scanned(NamedTuple):
    """What became of the jobs of an estate, by name, and which were refused, and why."""

    new: list[str]
    changed: list[str]
    retired: list[str]
    unchanged: int
    refused: list[str]

    @property
    def most_retired(self) -> bool:
        """Tell whether most of the jobs that are known would go."""
        return len(self.retired) > len(self.changed) + self.unchanged


def compare(registry: Registry, estate: Estate, instance: str) -> Scanned:
    """Tell what a scan would change."""
    namespace = f"autosys://{instance}"
    before = {one.name: one for one in registry.definitions.all_active() if one.namespace == namespace}
    new, changed, unchanged = [], [], 0
    for job in estate.jobs.values():
        known = before.pop(job.name, None)
        if known is None:
            new.append(job.name)
        elif known.hash != registry.definitions.hash_of(definition_of(job, estate.boxes_of(job))):
            changed.append(job.name)
        else:
            unchanged += 1
    return Scanned(new, changed, sorted(before), unchanged, [])


def take_estate(registry: Registry, reader: Reader, writer: Writer, estate: Estate, how: Telling, by: str) -> Scanned:
    """Bring the store to what the estate says: events first, so that what breaks in between is done again.

    A job whose event is refused is not registered: the next scan tells it again.
    """
    found = compare(registry, estate, how.instance)
    names = [*found.new, *found.changed, *found.retired]
    told = (_event(estate, name, how) for name in names)
    refused = {names[place]: why for place, why in take_events(told, reader, writer, _SOURCE).items()}
    new, changed, retired = (
        [name for name in each if name not in refused] for each in (found.new, found.changed, found.retired)
    )
    taken = Scanned(new, changed, retired, found.unchanged, [f"{name}: {why}" for name, why in refused.items()])
    namespace = f"autosys://{how.instance}"
    with registry.deciding():
        for name in (*new, *changed):
            job = estate.jobs[name]
            definition = definition_of(job, estate.boxes_of(job))
            registry.definitions.register("process", namespace, name, definition, by)
        for name in retired:
            registry.definitions.retire("process", namespace, name)
    return taken


def _event(estate: Estate, name: str, how: Telling) -> bytes:
    job = estate.jobs.get(name)
    return tell_job(job, estate.boxes_of(job), how) if job else tell_gone(name, how)

"""What pipelines jobs shall be, with their steps as tasks."""

from collections.abc import Iterator, Sequence

from bridge.store.database import Database
from bridge.store.graph import Graph
from bridge.sync.item import Item, Outcome, Settled, fingerprint
from bridge.sync.jobs import StoredJob, read_jobs
from bridge.sync.openmetadata.rules import Rules
from bridge.sync.openmetadata.wanted import Choice, Wanted
from mappers.openmetadata.pipelines import DescribedJob, Task, job_place, pipeline_requests
from mappers.openmetadata.places import find_mapping


def want_jobs(db: Database, org: str, rules: Rules, items: Sequence[Item]) -> Iterator[Wanted | Settled]:
    """Say what pipelines jobs shall be, or under which others they are shown."""
    found = read_jobs(db, org, rules.folding, [item.key for item in items])
    names = Graph(db, org).jobs({above for others in found.folded.values() for above in others})
    for item in items:
        if item.key in found.shown:
            yield _wanted(item, found.shown[item.key], rules)
        else:
            above = sorted(names[job].name for job in found.folded.get(item.key, ()))
            yield item.linked(Outcome.UNWANTED, f"it is shown under {', '.join(above)}" if above else "it is no job")


def _wanted(item: Item, stored: StoredJob, rules: Rules) -> Wanted:
    place = job_place(rules.layout, stored.namespace, stored.name, stored.integration)
    tasks = tuple(Task(task.name, task.sql, ()) for task in stored.tasks)
    service, own = pipeline_requests(place, DescribedJob(stored.name, stored.description, stored.source_url, tasks))
    is_home = find_mapping(rules.layout.mappings, stored.namespace) is None
    choice = Choice((service,), own, is_home)
    return Wanted(item, (choice,), fingerprint([own.fqn, own.body, rules.create]))

"""What is published, pinned and defined, and which version of a dataset is meant by it."""

import time
from collections import defaultdict
from datetime import datetime
from typing import Annotated

import msgspec

from bridge.catalogue.decided import (
    DefinedVersion,
    PinnedVersion,
    Publication,
    ResolvedVersion,
    tell_definition,
    tell_move,
    tell_pin,
    tell_resolved,
)
from bridge.catalogue.question import After, Limit, Page, Question, View, after, page
from bridge.catalogue.things import AboutDataset, AboutProcess, read_id
from bridge.registry.definitions import EVERY_NUMBER, Definitions, Kind, process_id
from bridge.registry.history import History
from bridge.registry.pins import Pins as StoredPins
from bridge.registry.resolution import Resolver, Wanted
from bridge.registry.selector import read_selector
from bridge.registry.versions import WHOLE, Versions
from mappers.errors import BadQuestion, UnknownName
from mappers.openlineage.subset import partition_key

Selected = Annotated[
    str,
    msgspec.Meta(
        description="`published`, `latest`, `as_of:TIME` (the latest of then), `version:TAG`, `pin:NAME`, or a name:"
        " of a version, else of a pin.",
        min_length=1,
    ),
]
AsOf = Annotated[
    datetime | None,
    msgspec.Meta(
        description="What was published, or the latest, at that time; UTC without a time zone.",
        extra_json_schema={"format": "date-time"},
    ),
]
OnePartition = Annotated[
    str,
    msgspec.Meta(
        description="One partition, such as `day=2026-01-31`; its names in any order.", min_length=1, max_length=500
    ),
]


class Served(msgspec.Struct, frozen=True):
    """A partition: the version that it is read of when the latest or what is published is asked for, if any."""

    partition: str
    latest: str | None
    published: str | None
    #: Why versions of it are not to be read, by version.
    invalid: dict[str, str]


class Resolve(AboutDataset[ResolvedVersion], frozen=True, kw_only=True):
    """Which version of a dataset is meant, how it was found and where it lies."""

    path = "/resolve"
    answer = ResolvedVersion
    pin: Selected = "published"
    as_of: AsOf = None
    partition: OnePartition | None = None

    def answered(self, view: View) -> ResolvedVersion:
        """Look it up."""
        wanted = Wanted(self.dataset(view), read_selector(self.pin, self.as_of), read_partition(self.partition))
        return tell_resolved(view.graph(), Resolver(view.db, view.org, now_micros).resolve(wanted))


class Publications(AboutDataset[Page[Publication]], frozen=True, kw_only=True):
    """What was published of a dataset, newest first: from what to what, when, by whom and why."""

    path = "/publications"
    answer = Page[Publication]
    limit: Limit = 50
    after: After = None

    def answered(self, view: View) -> Page[Publication]:
        """Read a page."""
        history, dataset = History(view.db, view.org), self.dataset(view)
        (before,) = after(self.after, tuple[int]) or (EVERY_NUMBER,)
        moves, following = page(
            history.newest(dataset, self.limit + 1, before=before), self.limit, lambda move: (move.number,)
        )
        told = [tell_move(move, None if move.follows is None else history.tag(move.follows)) for move in moves]
        return Page(told, following)


class Pins(Question[Page[PinnedVersion]], frozen=True, kw_only=True):
    """The pins of all datasets, by their names."""

    path = "/pins"
    answer = Page[PinnedVersion]
    expired: Annotated[bool, msgspec.Meta(description="Also those that have expired.")] = False
    limit: Limit = 100
    after: After = None

    def answered(self, view: View) -> Page[PinnedVersion]:
        """Read a page."""
        behind = after(self.after, tuple[str, bytes]) or ("", b"")
        pins = StoredPins(view.db, view.org, now_micros).listed(self.limit + 1, behind, expired=self.expired)
        shown, following = page(pins, self.limit, lambda pin: (pin.name, pin.version))
        names = view.graph().datasets({pin.dataset for pin in shown})
        return Page([tell_pin(names[pin.dataset], pin) for pin in shown], following)


class Partitions(AboutDataset[Page[Served]], frozen=True, kw_only=True):
    """The partitions of a dataset that versions name, by their names, and the version that each is read of."""

    path = "/partitions"
    answer = Page[Served]
    limit: Limit = 100
    after: After = None

    def answered(self, view: View) -> Page[Served]:
        """Read a page."""
        dataset, versions = self.dataset(view), Versions(view.db, view.org)
        newest = versions.newest(dataset)
        moves = History(view.db, view.org).standing(dataset)[::-1]
        published = versions.some(dataset, {move.version for move in moves})
        standing = [published[move.version] for move in moves if move.version in published]
        invalid: dict[str, dict[str, str]] = defaultdict(dict)
        for one in reversed(newest):
            for part in (*(one.partitions or ()), *one.invalid):
                if part != WHOLE and (reason := one.invalid.get(part, one.invalid.get(WHOLE))):
                    invalid[part][one.tag] = reason
        keys = sorted({part for one in newest for part in (*(one.partitions or ()), *one.invalid) if part != WHOLE})
        (behind,) = after(self.after, tuple[str]) or ("",)
        wanted = [key for key in keys if key > behind][: self.limit + 1]
        shown, following = page(wanted, self.limit, lambda key: (key,))
        told = []
        for key in shown:
            latest = next((one.tag for one in newest if one.holds(key) and one.fault(key) is None), None)
            top = next((one for one in standing if one.holds(key)), None)
            told.append(Served(key, latest, top.tag if top and top.fault(key) is None else None, dict(invalid[key])))
        return Page(told, following)


class ProcessVersions(AboutProcess[Page[DefinedVersion]], frozen=True, kw_only=True):
    """What a process or DAG was defined as, newest first, and which definition is in effect."""

    path = "/versions"
    answer = Page[DefinedVersion]
    kind: Annotated[Kind, msgspec.Meta(description="What is named; an id tells it by itself.")] = "process"
    limit: Limit = 50
    after: After = None

    def answered(self, view: View) -> Page[DefinedVersion]:
        """Read a page."""
        definitions = Definitions(view.db, view.org, now_micros)
        (before,) = after(self.after, tuple[int]) or (EVERY_NUMBER,)
        process = self._process(view)
        found = definitions.of(process, self.limit + 1, before)
        shown, following = page(found, self.limit, lambda one: (one.number,))
        return Page([tell_definition(one) for one in shown], following)

    def _process(self, view: View) -> bytes:
        """Find a process by what was registered; one that only ran is known, too, and has no definitions."""
        named = self.id is None and self.namespace is not None and self.name is not None
        if named:
            process = process_id(view.org, self.kind, self.namespace or "", self.name or "")
        elif self.id is not None:
            process = read_id(self.id)
        else:
            return self.job(view)
        if Definitions(view.db, view.org, now_micros).of(process, 1):
            return process
        if self.kind == "dag" and named:
            raise UnknownName(f"no DAG {self.name!r} in namespace {self.namespace!r} in the store")
        return self.job(view)


def read_partition(text: str | None) -> str:
    """Read the name of a partition; raises BadQuestion when it is none."""
    if text is None:
        return WHOLE
    try:
        return partition_key(text)
    except ValueError as error:
        raise BadQuestion(str(error), "partition") from error


def now_micros() -> int:
    """Give the time, in microseconds."""
    return time.time_ns() // 1_000

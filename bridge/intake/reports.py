"""Reports of Autosys into the store: their runs go through the door of legacy jobs, as history."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from bridge.intake.legacy import Delivery, LegacyReader
from bridge.intake.reading import now_micros
from bridge.intake.taking import take_bodies
from bridge.store.writer import Writer
from connectors.autosys.files import read_text
from mappers.legacy.autorep.dates import Order, guess_order, read_time
from mappers.legacy.autorep.history import tell_history
from mappers.legacy.autorep.report import Report, read_report
from mappers.legacy.autorep.scheduler_log import Text, first_time, read_logs
from mappers.legacy.autorep.site import Site
from mappers.legacy.contracts import Contract

if TYPE_CHECKING:
    from mappers.legacy.jil.conditions import StatusIs

_DELIVERY = Delivery(Contract.RUN_EVENT, historical=True)
#: What Autosys writes unless a site wants otherwise.
_USUAL: Order = "mdy"


class Where(NamedTuple):
    """What the reports do not say of themselves; an order of dates that nobody names is guessed."""

    instance: str
    zone: tzinfo
    order: Order | None
    boxes: Mapping[str, tuple[str, ...]]
    waits: Mapping[str, "Sequence[StatusIs]"] = {}
    successes: Mapping[str, Mapping[str, str]] = {}


class Taken(NamedTuple):
    """What became of reports: runs told, bodies that were refused, remarks, and lines that tell of no run."""

    runs: int
    rejected: int
    problems: list[str]
    #: How many lines, by what they tell of.
    others: dict[str, int]


def take_reports(files: Iterable[Path], where: Where, legacy: LegacyReader, writer: Writer) -> Taken:
    """Take the runs of reports and logs; again does no harm."""
    runs = rejected = 0
    problems: list[str] = []
    others: Counter[str] = Counter()
    for named, report, order in _reports(files, where):
        if order is None and report.times():
            problems.append(f"{named}: warning: dates could be of either order: taken as month/day (--dates says it)")
        site = Site(where.instance, order or _USUAL, where.zone, where.boxes, where.waits, where.successes)
        told = tell_history(report, site)
        others += report.others
        problems += [str(one) for one in (*report.problems, *told.problems)]
        found = (legacy.read(msgspec.json.encode(body), _DELIVERY, now_micros()) for body in told.bodies)
        taken, refused = take_bodies(found, writer)
        runs, rejected = runs + taken, rejected + refused
    return Taken(runs, rejected, problems, dict(others))


def _reports(files: Iterable[Path], where: Where) -> Iterator[tuple[str, Report, Order | None]]:
    """Give each report with the order of its dates, where that is certain; all logs are one, in the order of time."""
    logs: list[Text] = []
    for file in files:
        text = read_text(file).text
        if first_time(text) is None:
            report = read_report(text, str(file))
            yield str(file), report, where.order or _certain(report)
        else:
            logs.append(Text(str(file), text))
    if logs:
        report = read_logs(logs)
        order = where.order or _certain(report)
        ordered = _in_time(logs, order or _USUAL, where.zone)
        yield ", ".join(one.file for one in ordered), report if ordered == logs else read_logs(ordered), order


def _in_time(logs: list[Text], order: Order, zone: tzinfo) -> list[Text]:
    """Put logs in the order in which they were written; where a time cannot be, as they are named."""
    with suppress(ValueError):
        return sorted(logs, key=lambda one: read_time(first_time(one.text) or "", order, zone))
    return logs


def _certain(report: Report) -> Order | None:
    guessed = guess_order(report.times())
    return guessed.order if guessed.certain else None

"""Reports of Autosys into the store: their runs go through the door of legacy jobs, as history."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from bridge.intake.legacy import Delivery, LegacyReader
from bridge.intake.reading import now_micros
from bridge.intake.taking import take_bodies
from bridge.store.writer import Writer
from connectors.autosys.files import read_text
from mappers.legacy.autorep.dates import Order, guess_order
from mappers.legacy.autorep.history import tell_history
from mappers.legacy.autorep.report import Report, read_report
from mappers.legacy.autorep.scheduler_log import is_log, read_log
from mappers.legacy.autorep.site import Site
from mappers.legacy.contracts import Contract

if TYPE_CHECKING:
    from mappers.legacy.jil.conditions import StatusIs

_DELIVERY = Delivery(Contract.RUN_EVENT, historical=True)


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
    for file in files:
        report = read_file(file)
        order = where.order
        if order is None:
            order, certain = guess_order(report.times())
            if not certain and report.times():
                problems.append(
                    f"{file}: warning: dates could be of either order: taken as month/day (--dates says it)"
                )
        site = Site(where.instance, order, where.zone, where.boxes, where.waits, where.successes)
        told = tell_history(report, site)
        others += report.others
        problems += [str(one) for one in (*report.problems, *told.problems)]
        found = (legacy.read(msgspec.json.encode(body), _DELIVERY, now_micros()) for body in told.bodies)
        taken, refused = take_bodies(found, writer)
        runs, rejected = runs + taken, rejected + refused
    return Taken(runs, rejected, problems, dict(others))


def read_file(file: Path) -> Report:
    """Read a report or a log, whichever it is."""
    text = read_text(file).text
    return read_log(text, str(file)) if is_log(text) else read_report(text, str(file))

"""The commands of `lineage-bridge dataset` that decide: publish, roll back, pin, mark."""

from datetime import datetime
from typing import Annotated

import typer

from bridge.cli.dataset import Printed
from bridge.cli.escape import escape
from bridge.cli.options import Config, Output, print_answer
from bridge.cli.orders import By, Why, done, in_pairs, of_word

Pairs = Annotated[
    list[str],
    typer.Argument(
        metavar="DATASET VERSION...",
        help="Datasets, each in one word or by its UUID and followed by a version: a tag, key or id, or `latest`.",
    ),
]
Expected = Annotated[
    list[str] | None,
    typer.Option(help="What is published now, of each dataset in its order; else it is refused.", metavar="VERSION"),
]
_DAYS = 30


def publish(
    pairs: Pairs,
    expected: Expected = None,
    first: Annotated[
        bool, typer.Option("--first", help="Nothing is published of any of them; else it is refused.")
    ] = False,
    by: By = None,
    why: Why = None,
    output: Printed = Output.text,
    config: Config = None,
) -> None:
    """Publish a version of each dataset, or of none."""
    from msgspec import UNSET

    from bridge.cli.dataset_text import published_lines
    from bridge.orders.orders import Publish, ToPublish

    wanted = in_pairs(pairs)
    if expected and (first or len(expected) != len(wanted)):
        raise typer.BadParameter("say --expected once for each dataset, or --first")
    known = dict(enumerate(expected or ()))
    unsaid = None if first else UNSET
    datasets = [
        ToPublish(**of_word(word), version=version, expected=known.get(place, unsaid))
        for place, (word, version) in enumerate(wanted)
    ]
    made = done(config, Publish(datasets=datasets, why=why), by)
    print_answer(made, map(escape, published_lines(made)), as_json=output is Output.json)


def rollback(
    datasets: Annotated[
        list[str] | None, typer.Argument(metavar="DATASET...", help="Datasets, each in one word or by its UUID.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="To this version, which was published at any time.", metavar="VERSION")
    ] = None,
    publication: Annotated[
        int | None, typer.Option(min=1, help="Undo this publication, of all datasets that it moved.")
    ] = None,
    expected: Expected = None,
    by: By = None,
    why: Why = None,
    output: Printed = Output.text,
    config: Config = None,
) -> None:
    """Go back to what was published before, of all datasets that are named or of none."""
    from msgspec import UNSET

    from bridge.cli.dataset_text import published_lines
    from bridge.orders.orders import RollBack, ToRollBack

    words = datasets or []
    if bool(words) == (publication is not None) or (publication is not None and (to or expected)):
        raise typer.BadParameter("name datasets, or a --publication alone")
    if expected and len(expected) != len(words):
        raise typer.BadParameter("say --expected once for each dataset")
    known = dict(enumerate(expected or ()))
    wanted = [
        ToRollBack(**of_word(word), to=to, expected=known.get(place, UNSET)) for place, word in enumerate(words)
    ]
    made = done(config, RollBack(datasets=wanted or None, publication=publication, why=why), by)
    print_answer(made, map(escape, published_lines(made)), as_json=output is Output.json)


def pin(
    name: Annotated[str, typer.Argument(metavar="PIN", help="What the versions are found by.")],
    pairs: Pairs,
    until: Annotated[datetime | None, typer.Option(help="When it ends (UTC).", metavar="TIME")] = None,
    days: Annotated[int | None, typer.Option(min=1, help=f"How many days it lasts; {_DAYS} without --until.")] = None,
    by: By = None,
    why: Why = None,
    output: Printed = Output.text,
    config: Config = None,
) -> None:
    """Keep a version of each dataset under a name until a time, or of none."""
    from datetime import UTC, timedelta

    from bridge.cli.dataset_text import pin_line
    from bridge.orders.version_orders import PinVersions, ToPin

    if until and days:
        raise typer.BadParameter("say --until or --days")
    ends = until or datetime.now(UTC) + timedelta(days=days or _DAYS)
    datasets = [ToPin(**of_word(word), version=version) for word, version in in_pairs(pairs)]
    made = done(config, PinVersions(pin=name, until=ends, datasets=datasets, why=why), by)
    print_answer(made, map(escape, map(pin_line, made.pins)), as_json=output is Output.json)


def unpin(
    name: Annotated[str, typer.Argument(metavar="PIN", help="The name of the pin.")],
    of: Annotated[
        str | None, typer.Argument(metavar="DATASET", help="Only of this dataset, in one word or by its UUID.")
    ] = None,
    output: Printed = Output.text,
    config: Config = None,
) -> None:
    """Remove a pin."""
    from bridge.cli.dataset_text import pin_line
    from bridge.orders.version_orders import Unpin

    gone = done(config, Unpin(pin=name, **(of_word(of) if of else {})), None)
    print_answer(gone, map(escape, map(pin_line, gone.pins)), as_json=output is Output.json)


def invalidate(
    of: Annotated[str, typer.Argument(metavar="DATASET", help="The dataset, in one word or by its UUID.")],
    version: Annotated[str, typer.Argument(help="The version: a tag, key or id.")],
    reason: Annotated[str | None, typer.Option(help="Why it is not to be read.")] = None,
    partition: Annotated[str | None, typer.Option(help="Only this partition, such as `day=2026-01-31`.")] = None,
    valid: Annotated[bool, typer.Option("--valid", help="Take it back: it is to be read again.")] = False,
    by: By = None,
    output: Printed = Output.text,
    config: Config = None,
) -> None:
    """Mark a version, or a partition of it, as not to be read."""
    from bridge.cli.dataset_text import judgement_lines
    from bridge.orders.version_orders import Invalidate

    if valid == (reason is not None):
        raise typer.BadParameter("say --reason, or --valid")
    order = Invalidate(**of_word(of), version=version, reason=reason, partition=partition, valid=valid)
    told = done(config, order, by)
    print_answer(told, map(escape, judgement_lines(told)), as_json=output is Output.json)


def join(dataset: typer.Typer) -> None:
    """Add these commands to those that read."""
    for command in (publish, rollback, pin, unpin, invalidate):
        dataset.command()(command)

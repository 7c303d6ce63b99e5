"""What commands do to what is to be pushed."""

from collections.abc import Collection
from contextlib import closing

import typer

from bridge.cli.options import Config, load
from bridge.target_names import TargetName


def key_of(id_: str) -> tuple[str, bytes]:
    """Read an id: the kind of an item, and its key."""
    kind, _, key = id_.partition("-")
    return kind, bytes.fromhex(key)


def push_anew(config: Config, target: TargetName, keys: Collection[tuple[str, bytes]] | None) -> None:
    """Let these be pushed anew at once, or all that failed."""
    from bridge.bootstrap import open_queue

    with closing(open_queue(load(config), target)) as queue:
        chosen = queue.troubled() if keys is None else keys
        queue.retry(chosen)
    typer.echo(f"{len(chosen)} to be pushed anew: by the service, or by `lineage-bridge sync --once`")


def give_up(config: Config, target: TargetName, key: tuple[str, bytes]) -> None:
    """Let one that is dead not be tried again before it changes."""
    from bridge.bootstrap import open_queue

    with closing(open_queue(load(config), target)) as queue:
        queue.drop([key])

"""Options that several commands share, and whom they ask."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar

import typer

from bridge.cli.escape import escape
from bridge.target_names import TargetName, enabled_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bridge.catalogue.question import Question
    from bridge.settings import Settings

A = TypeVar("A")
#: What is there forbids what is asked for: documented in docs/cli.md.
EXIT_CONFLICT = 6


class Output(StrEnum):
    """For whom an answer is printed: people, or programs."""

    text = "text"
    json = "json"


Config = Annotated[
    list[Path] | None,
    typer.Option("--config", "-c", help="Configuration file; may be given several times, later ones win."),
]
Url = Annotated[
    str | None,
    typer.Option(help="Ask the service that runs there, not the store of the settings.", envvar="LINEAGE_BRIDGE_URL"),
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        help="The API key for --url, with the scope read; best given in the variable.",
        envvar="LINEAGE_BRIDGE_API_KEY",
    ),
]
DatasetNamespace = Annotated[
    str, typer.Argument(help="The dataset's namespace, such as `file`; or namespace and name in one.")
]
DatasetName = Annotated[str | None, typer.Argument(help="The dataset's name, such as `/data/out/bands`.")]
Target = Annotated[
    TargetName | None,
    typer.Option("--target", help="Which of the systems that are kept; the first that is enabled, unless named."),
]


class Asked(NamedTuple):
    """Whom a command asks: a service, or the store of the settings."""

    config: list[Path] | None
    url: str | None
    api_key: str | None

    def ask(self, question: "Question[A]") -> A:
        """Get the answer; what is not in the store ends the command."""
        from mappers.errors import Conflict, UnknownName

        try:
            return self.try_to_ask(question)
        except (UnknownName, Conflict) as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(EXIT_CONFLICT if isinstance(error, Conflict) else 1) from error

    def show(self, question: "Question[A]", lines: "Callable[[A], Iterable[str]]", output: Output) -> None:
        """Print the answer: for people in lines, whatever strangers wrote into them, or for programs."""
        found = self.ask(question)
        print_answer(found, map(escape, lines(found)), as_json=output is Output.json)

    def try_to_ask(self, question: "Question[A]") -> A:
        """Get the answer; raises UnknownName when there is nothing of that name."""
        from contextlib import closing

        from bridge.bootstrap import open_catalogue, open_service

        catalogue = open_service(self.url, self.api_key) if self.url else open_catalogue(load(self.config))
        with closing(catalogue):
            return catalogue.ask(question)


def named(namespace: str, name: str | None) -> dict[str, str]:
    """Give the parameters that name a dataset: in two words, or in one."""
    return {"name": namespace} if name is None else {"namespace": namespace, "name": name}


def load(config: list[Path] | None) -> "Settings":
    """Read the settings that the options name."""
    from bridge.configuration import load_settings

    return load_settings(config or [])


def chosen(target: TargetName | None, config: list[Path] | None) -> TargetName:
    """Give the target that was named, or the first that is enabled."""
    return target or next(iter(enabled_targets(load(config))), TargetName.openmetadata)


def print_answer(answer: object, lines: "Iterable[str]", *, as_json: bool) -> None:
    """Print an answer for people, line by line, or for programs."""
    if as_json:
        print_json(answer)
        return
    for line in lines:
        typer.echo(line)


def print_json(answer: object) -> None:
    """Print an answer as one line of JSON, in UTF-8 whatever the terminal's encoding is."""
    import msgspec

    typer.echo(msgspec.json.encode(answer))

"""Sections of `lineage-bridge --help`."""

from typing import Any

import typer
from typer.core import TyperGroup

COMMAND_GROUPS = {
    "Run": ("serve", "ingest", "tail", "rejected", "import", "export"),
    "Look": ("search", "show", "lineage", "impact", "explain", "runs", "events"),
    "Spark": ("spark",),
    "OpenMetadata and Marquez": ("sync", "verify", "dead", "openmetadata", "marquez"),
    "Governance": ("governance",),
    "Processes and versions": ("process", "dataset"),
    "Legacy": ("autosys", "feed"),
    "Operate": ("doctor", "config", "keys", "redact", "schema", "completion", "version"),
}


class GroupedCommands(TyperGroup):
    """Lists the commands in the sections of `COMMAND_GROUPS`. Without arguments, prints the help and exits with 0."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args[:1] == ["--version"]:
            from bridge import __version__

            typer.echo(f"lineage-bridge {__version__}")
            ctx.exit()
        return super().parse_args(ctx, args or ["--help"])

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - signature of typer, whose types are private
        """Write one section per group."""
        width = formatter.width - 6 - max(map(len, self.commands))
        with formatter.section("Version"):
            formatter.write_dl([("--version", "Show the version and exit.")])
        for title, names in COMMAND_GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(width)) for name in names])

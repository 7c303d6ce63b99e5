"""Checks that the configuration is valid and that other users cannot read its secret files."""

import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bridge.doctor.finding import Finding, Level
from bridge.settings.model import Settings
from connectors.errors import ConfigError


def report_errors(error: ConfigError) -> Iterator[Finding]:
    """Report each error of an invalid configuration as a finding."""
    for line in str(error).splitlines():
        yield Finding(Level.error, "config", line, "configs/bridge.yaml lists every key")


def check(paths: Sequence[Path], secrets: Mapping[str, Path], settings: Settings) -> Iterator[Finding]:
    """Report the configuration files that were read and any secret files that other users can read."""
    sources = ", ".join(map(str, paths)) or "no file (defaults and environment only)"
    server = settings.server
    yield Finding(Level.ok, "config", f"read {sources}")
    yield Finding(Level.ok, "config", f"listens on {server.host}:{server.port}, {len(server.api_keys)} API keys")
    for variable, path in secrets.items():
        mode = path.stat().st_mode
        if mode & stat.S_IROTH:
            message = f"other users can read {path}, the secret of {variable} (mode {stat.S_IMODE(mode):03o})"
            yield Finding(Level.warning, "config", message, f"chmod o-rwx {path}")

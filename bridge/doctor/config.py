"""Whether the configuration is accepted, and its secrets are kept."""

import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bridge.doctor.finding import Finding, Level
from bridge.settings.model import Settings
from connectors.errors import ConfigError


def config_errors(error: ConfigError) -> Iterator[Finding]:
    """Tell every mistake of a configuration that is not accepted."""
    for line in str(error).splitlines():
        yield Finding(Level.error, "config", line, "configs/bridge.yaml lists every key")


def check(paths: Sequence[Path], secrets: Mapping[str, Path], settings: Settings) -> Iterator[Finding]:
    """Name what was read, and secrets that lie open."""
    read = ", ".join(map(str, paths)) or "no file, so defaults and the environment"
    server = settings.server
    yield Finding(Level.ok, "config", f"read {read}")
    yield Finding(Level.ok, "config", f"serves on {server.host}:{server.port} with {len(server.api_keys)} keys")
    for variable, path in secrets.items():
        mode = path.stat().st_mode
        if mode & stat.S_IROTH:
            found = f"others may read {path}, the secret of {variable} (mode {stat.S_IMODE(mode):03o})"
            yield Finding(Level.warning, "config", found, f"chmod o-rwx {path}")

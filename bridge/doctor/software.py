"""Installed packages, extras and the database server version."""

import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from bridge import __version__
from bridge.doctor.finding import Finding, Level
from bridge.store.database import Database
from bridge.store.sqlite import SqliteDatabase

_OLDEST_SERVER = 14
_NAME = "lineage-bridge"
_WANTED = re.compile(r"""([\w.-]+).*;.*extra == ["']([\w-]+)["']""")


def installed_packages() -> Iterator[Finding]:
    """Name the versions of what runs here, and which extras are installed."""
    found = f"{_NAME} {__version__}, Python {platform.python_version()}, {SqliteDatabase.version}"
    yield Finding(Level.ok, "versions", found)
    for extra, packages in sorted(_extras().items()):
        missing = [package for package, there in packages.items() if there is None]
        named = ", ".join(f"{package} {there or 'missing'}" for package, there in packages.items())
        state = f"not installed, pip install '{_NAME}[{extra}]' if you want it" if missing else "installed"
        yield Finding(Level.ok, "versions", f"extra {extra} ({named}) is {state}")


def check_database_version(db: Database) -> Iterator[Finding]:
    """Name the version of the database server."""
    if int(db.version.split()[-1]) < _OLDEST_SERVER:
        remedy = f"upgrade it to PostgreSQL {_OLDEST_SERVER} or newer"
        yield Finding(Level.error, "versions", f"the server is {db.version}", remedy)
    else:
        yield Finding(Level.ok, "versions", f"the server is {db.version}")


def _extras() -> dict[str, dict[str, str | None]]:
    """Give the packages of each extra, as this package itself declares them, with their versions."""
    extras: dict[str, dict[str, str | None]] = {}
    for wanted in requires(_NAME) or []:
        if (found := _WANTED.match(wanted)) and found[2] != "all":
            extras.setdefault(found[2], {})[found[1]] = _installed(found[1])
    return extras


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None

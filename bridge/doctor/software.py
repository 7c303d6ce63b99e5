"""Installed packages, extras and the database server version."""

import platform
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from bridge import __version__
from bridge.doctor.finding import Finding, Level
from bridge.store.database import Database
from bridge.store.sqlite import SqliteDatabase
from connectors.errors import ConfigError, MissingDependency
from connectors.spark.releases import find_release
from connectors.spark.submit import find_java

_MIN_POSTGRES_VERSION = 14
_PACKAGE = "lineage-bridge"
_EXTRA_REQUIREMENT = re.compile(r"""([\w.-]++)[^;]*+;.*extra == ["']([\w-]+)["']""")


def check_packages() -> Iterator[Finding]:
    """Report the versions of lineage-bridge, Python and SQLite, and which extras are installed."""
    message = f"{_PACKAGE} {__version__}, Python {platform.python_version()}, {SqliteDatabase.version}"
    yield Finding(Level.ok, "versions", message)
    for extra, packages in sorted(_declared_extras().items()):
        missing_packages = [package for package, installed_version in packages.items() if installed_version is None]
        package_list = ", ".join(
            f"{package} {installed_version or 'missing'}" for package, installed_version in packages.items()
        )
        state = f"not installed (pip install '{_PACKAGE}[{extra}]')" if missing_packages else "installed"
        yield Finding(Level.ok, "versions", f"extra {extra} ({package_list}) is {state}")


def check_spark() -> Iterator[Finding]:
    """Report the Java that runs the installed Spark, if any."""
    spark_version = _installed_version("pyspark")
    if spark_version is None:
        return
    try:
        java = find_java(find_release(spark_version))
    except (ConfigError, MissingDependency) as error:
        reason, _, remedy = str(error).partition(": ")
        yield Finding(Level.warning, "versions", reason, remedy)
        return
    yield Finding(Level.ok, "versions", f"Spark {spark_version} runs on Java {java.version} ({java.home})")


def check_database_version(db: Database) -> Iterator[Finding]:
    if int(db.version.split()[-1]) < _MIN_POSTGRES_VERSION:
        remedy = f"upgrade it to PostgreSQL {_MIN_POSTGRES_VERSION} or newer"
        yield Finding(Level.error, "versions", f"the server is {db.version}", remedy)
    else:
        yield Finding(Level.ok, "versions", f"the server is {db.version}")


def _declared_extras() -> dict[str, dict[str, str | None]]:
    """Map each extra of lineage-bridge to its packages and their installed versions; None means not installed."""
    extras: dict[str, dict[str, str | None]] = {}
    for requirement in requires(_PACKAGE) or []:
        match = _EXTRA_REQUIREMENT.match(requirement)
        if match is not None and match[2] != "all":
            package, extra = match.groups()
            extras.setdefault(extra, {})[package] = _installed_version(package)
    return extras


def _installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None

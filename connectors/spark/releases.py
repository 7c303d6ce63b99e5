"""Supported Spark releases, with matching listener and table formats."""

import re
from enum import StrEnum
from typing import NamedTuple

from connectors.errors import ConfigError

#: The newest listener release on Maven Central for both Scala versions.
LISTENER_VERSION = "1.53.0"


class TableFormat(StrEnum):
    """A supported table format."""

    iceberg = "iceberg"
    delta = "delta"


class SparkRelease(NamedTuple):
    """A Spark release line: its newest tested release, its Scala version, and its table format packages, if any."""

    name: str
    release: str
    scala: str
    #: Supported Java versions.
    java: tuple[int, ...]
    iceberg: str | None = None
    delta: str | None = None

    def required_package(self, catalog: TableFormat) -> str:
        """Return the package of a table format; raises ConfigError if this release has no package."""
        package = self.package_or_none(catalog)
        if package is None:
            raise ConfigError(f"{catalog} has no release for Spark {self.name}: use {releases_with(catalog)}")
        return package

    def package_or_none(self, catalog: TableFormat) -> str | None:
        """Return the package of a table format, or None if this release has no package."""
        return self.iceberg if catalog is TableFormat.iceberg else self.delta

    def for_scala(self, scala: str) -> "SparkRelease":
        """Return this release, built for a Scala version; raises ConfigError if there is no such build."""
        if scala == self.scala:
            return self
        if scala not in _SCALA_BUILDS.get(self.name, ()):
            raise ConfigError(f"Spark {self.name} has no build for Scala {scala}: use Scala {self.scala}")
        suffix, new_suffix = f"_{self.scala}:", f"_{scala}:"
        iceberg, delta = (package and package.replace(suffix, new_suffix) for package in (self.iceberg, self.delta))
        return self._replace(scala=scala, iceberg=iceberg, delta=delta)

    @property
    def java_text(self) -> str:
        """The supported Java versions, for messages."""
        *others, newest = map(str, self.java)
        return f"{', '.join(others)} or {newest}"

    @property
    def listener(self) -> str:
        """Package of the listener for this release."""
        return f"io.openlineage:openlineage-spark_{self.scala}:{LISTENER_VERSION}"


_JAVA = (17, 21)
#: Scala versions of builds besides the usual one; listener and table formats have packages for each.
_SCALA_BUILDS = {"3.5": ("2.13",)}
_ICEBERG = "org.apache.iceberg:iceberg-spark-runtime"

#: Releases that were tested with the real listener; others are rejected.
SUPPORTED_RELEASES = (
    SparkRelease(
        "3.5", "3.5.9", "2.12", (8, 11, 17), f"{_ICEBERG}-3.5_2.12:1.12.0", "io.delta:delta-spark_2.12:3.3.3"
    ),
    SparkRelease("4.0", "4.0.4", "2.13", _JAVA, f"{_ICEBERG}-4.0_2.13:1.11.0"),
    SparkRelease("4.1", "4.1.4", "2.13", _JAVA, f"{_ICEBERG}-4.1_2.13:1.12.0", "io.delta:delta-spark_4.1_2.13:4.4.0"),
    SparkRelease("4.2", "4.2.1", "2.13", _JAVA, None, "io.delta:delta-spark_4.2_2.13:4.4.0"),
    SparkRelease("4.3", "4.3.0", "2.13", _JAVA),
)

#: The newest release that the listener, Iceberg and Delta all support; the extra `spark` installs it.
DEFAULT_RELEASE = "4.1"


def releases_with(catalog: TableFormat) -> str:
    """Name the releases that a table format supports, for messages."""
    return f"Spark {' or '.join(release.name for release in SUPPORTED_RELEASES if release.package_or_none(catalog))}"


def find_release(version: str, scala: str | None = None) -> SparkRelease:
    """Find the release line of a version such as `4.1` or `4.1.4`; raises ConfigError if it is not supported.

    `scala` selects a build for another Scala version than the usual one.
    """
    name = ".".join(re.findall(r"\d+", version)[:2])
    for release in SUPPORTED_RELEASES:
        if release.name == name:
            return release.for_scala(scala or release.scala)
    names = ", ".join(release.name for release in SUPPORTED_RELEASES)
    raise ConfigError(f"Spark {version} is not supported with the listener: use one of {names}")

"""Supported Spark releases, with matching listener and table formats."""

import re
from enum import StrEnum
from typing import NamedTuple

from connectors.errors import ConfigError

#: The newest release of the listener that Maven Central serves for both Scala versions.
LISTENER_VERSION = "1.53.0"


class TableFormat(StrEnum):
    """The table formats that are set up beside the listener."""

    iceberg = "iceberg"
    delta = "delta"


class SparkRelease(NamedTuple):
    """A line of Spark: the newest release it was tried with, its Scala, and its table formats, if there are any."""

    name: str
    release: str
    scala: str
    oldest_java: int
    iceberg: str | None = None
    delta: str | None = None

    def required_package(self, catalog: TableFormat) -> str:
        """Name the package of a table format; raises ConfigError where it has none for this line."""
        found = self.package_or_none(catalog)
        if found is None:
            raise ConfigError(f"{catalog} has no release for Spark {self.name}: use {releases_with(catalog)}")
        return found

    def package_or_none(self, catalog: TableFormat) -> str | None:
        """Name the package of a table format, if it has one for this line."""
        return self.iceberg if catalog is TableFormat.iceberg else self.delta

    @property
    def listener(self) -> str:
        """Name the package of the listener."""
        return f"io.openlineage:openlineage-spark_{self.scala}:{LISTENER_VERSION}"


_ICEBERG = "org.apache.iceberg:iceberg-spark-runtime"

#: Every line that was tried with the real listener; the others are refused.
SUPPORTED_RELEASES = (
    SparkRelease("3.5", "3.5.9", "2.12", 8, f"{_ICEBERG}-3.5_2.12:1.12.0", "io.delta:delta-spark_2.12:3.3.3"),
    SparkRelease("4.0", "4.0.4", "2.13", 17, f"{_ICEBERG}-4.0_2.13:1.11.0"),
    SparkRelease("4.1", "4.1.4", "2.13", 17, f"{_ICEBERG}-4.1_2.13:1.12.0", "io.delta:delta-spark_4.1_2.13:4.4.0"),
    SparkRelease("4.2", "4.2.1", "2.13", 17, None, "io.delta:delta-spark_4.2_2.13:4.4.0"),
    SparkRelease("4.3", "4.3.0", "2.13", 17),
)

#: The newest line on which the listener, Iceberg and Delta all work: that of the extra `spark`.
DEFAULT_RELEASE = "4.1"


def releases_with(catalog: TableFormat) -> str:
    """Name the lines that a table format has a release for."""
    return f"Spark {' or '.join(line.name for line in SUPPORTED_RELEASES if line.package_or_none(catalog))}"


def find_release(version: str) -> SparkRelease:
    """Find the line of a Spark version such as `4.1` or `4.1.4`; raises ConfigError when it is none of ours."""
    name = ".".join(re.findall(r"\d+", version)[:2])
    for line in SUPPORTED_RELEASES:
        if line.name == name:
            return line
    raise ConfigError(
        f"Spark {version} was not tried with the listener: use one of {', '.join(i.name for i in SUPPORTED_RELEASES)}"
    )

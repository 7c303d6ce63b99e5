"""What every job begins with: a session, and the folder that it reads from and writes to."""

import sys

from pyspark.sql import SparkSession


def begin(name: str) -> tuple[SparkSession, str]:
    return SparkSession.builder.appName(name).getOrCreate(), sys.argv[1]

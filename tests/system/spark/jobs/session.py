"""Session and base folder of a job."""

import sys

from pyspark.sql import SparkSession


def start_session(name: str) -> tuple[SparkSession, str]:
    return SparkSession.builder.appName(name).getOrCreate(), sys.argv[1]

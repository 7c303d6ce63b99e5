"""Technologies whose runs a feed may hold."""

from enum import StrEnum


class Technology(StrEnum):
    """What the runs are of, where rows do not say it."""

    autosys = "AUTOSYS"
    runmgr = "RUNMGR"
    spark = "SPARK"
    db2_sp = "DB2_SP"
    shell = "SHELL"

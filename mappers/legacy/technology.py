"""Technologies of the runs in a feed."""

from enum import StrEnum


class Technology(StrEnum):
    """Technology to assume for feed rows that do not name a technology."""

    autosys = "AUTOSYS"
    runmgr = "RUNMGR"
    spark = "SPARK"
    db2_sp = "DB2_SP"
    shell = "SHELL"

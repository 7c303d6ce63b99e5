"""Technologies of the runs in a feed."""

from enum import StrEnum


class Technology(StrEnum):
    """Technology of the runs in a feed whose rows do not contain it."""

    autosys = "AUTOSYS"
    runmgr = "RUNMGR"
    spark = "SPARK"
    db2_sp = "DB2_SP"
    shell = "SHELL"

"""What runs of a table can be of."""

from enum import StrEnum


class Technology(StrEnum):
    """What the runs are of, where rows do not say it."""

    autosys = "AUTOSYS"
    runmgr = "RUNMGR"
    spark = "SPARK"
    db2_sp = "DB2_SP"
    shell = "SHELL"

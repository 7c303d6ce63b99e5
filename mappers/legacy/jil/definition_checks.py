"""Finds job definitions that Autosys would reject or never run: types, missing attributes, lookbacks."""

import difflib
import re
from collections.abc import Iterator, Mapping

from mappers.legacy.diagnostics import Diagnostic, DiagnosticLevel
from mappers.legacy.jil.attributes import CONDITION_ATTRIBUTES
from mappers.legacy.jil.job_catalog import JobCatalog, JobDefinition

#: Job types of Autosys and of its agents; `insert_job_type` defines more, and digits are types of the installation.
_JOB_TYPE_NAMES = """
BOX CMD CPU DBMON DBPROC DBTRIG DISK ENTYBEAN FT FTP FW HTTP I5 IP JAVARMI JMSPUB JMSSUB JMXMAG JMXMAS JMXMC JMXMOP
JMXMREM JMXSUB MICROFOCUS OACOPY OAPROC OASET OASG OMCPU OMD OMEL OMIP OMP OMS OMTF POJO PROC PROXY PS SAP SAPBDC
SAPBWIP SAPBWPC SAPDA SAPEVT SAPJC SAPPM SCP SESSBEAN SQL SQLAGENT SVC TXTMON WBSVC WEBSVC WOL ZOS ZOSDST ZOSM
0 1 2 3 4 5 6 7 8 9
"""
_JOB_TYPES = frozenset(_JOB_TYPE_NAMES.split())
#: Attributes without which a job does nothing; the installation may have a default for the machine.
_REQUIRED_ATTRIBUTES: Mapping[str, Mapping[str, DiagnosticLevel]] = {
    "CMD": {"command": "error", "machine": "warning"},
    "FW": {"watch_file": "error", "machine": "warning"},
}
#: The second argument of a condition, if it has 60 minutes or more.
_IMPOSSIBLE_LOOKBACK = re.compile(r",\s*(\d{1,4}[.:][6-9]\d)\s*\)")


def incomplete_definitions(catalog: JobCatalog) -> Iterator[Diagnostic]:
    """Find jobs of unknown types, jobs without an attribute that their type requires, and impossible lookbacks."""
    known_types = _JOB_TYPES.union(name.upper() for name in catalog.objects.get("job_type", {}))
    for job in catalog.jobs.values():
        if job.type not in known_types:
            similar_types = difflib.get_close_matches(job.type, sorted(known_types), 1)
            hint = f"; did you mean {similar_types[0]}?" if similar_types else ""
            yield Diagnostic(job.file, job.line, "warning", f"{job.name} has the unknown job_type {job.type}{hint}")
        for name, level in _REQUIRED_ATTRIBUTES.get(job.type, {}).items():
            if not job.get(name):
                yield Diagnostic(job.file, job.line, level, f"{job.name} has the job_type {job.type}, but no {name}")
        yield from _impossible_lookbacks(job)


def _impossible_lookbacks(job: JobDefinition) -> Iterator[Diagnostic]:
    for name in CONDITION_ATTRIBUTES:
        for lookback in _IMPOSSIBLE_LOOKBACK.findall(job.get(name) or ""):
            message = f"{job.name} {name} has the lookback {lookback}: expected hhhh.mm with at most 59 minutes"
            yield Diagnostic(job.file, job.line, "error", message)

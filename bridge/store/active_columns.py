"""Maintains active column lineage: for each application and target, what the newest successful run reports."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bridge.store.column_reports import ColumnReport, ColumnReports, ReportChange, ReportKey, TargetPair
from bridge.store.database import Database, Insert
from mappers.canonical.identity import NO_ID, split_ids
from mappers.canonical.merge import Reducer
from mappers.canonical.rows import ColumnLineageRow, JobRow, LineageSetRow

#: A job, and a dataset whose column lineage it reports.
_Pair = tuple[bytes, bytes]
#: A row of column lineage: its source and its lineage id.
_LineageRow = tuple[bytes, bytes]
#: A job, and a set of column lineage that it reports.
_JobSet = tuple[bytes, bytes]

_BATCH = 1_000

_JOB_TO_LOCK = "SELECT job_id FROM ol_job WHERE org_id = ?1 AND job_id = ?2"
_NEWEST_FIRST = """
SELECT c.{column} FROM column_report c WHERE c.target_id = g.a AND c.application_id = g.b AND c.org_id = ?1
ORDER BY c.succeeded DESC, c.run_start DESC, c.unit_id DESC LIMIT 1
"""
_NEWEST = f"""
SELECT g.a, g.b, ({_NEWEST_FIRST.format(column="unit_id")}), ({_NEWEST_FIRST.format(column="succeeded")})
FROM {{keys}} g
"""
_OF_UNIT = """
c.target_id = g.a AND c.application_id = g.b AND c.unit_id = g.c AND c.org_id = ?1
"""
_REPORTS_OF_UNITS = f"""
SELECT c.target_id, c.application_id, c.succeeded, c.job_id, c.run_id FROM {{keys}} g
JOIN column_report c ON c.run_id = g.c AND {_OF_UNIT}
UNION ALL
SELECT c.target_id, c.application_id, c.succeeded, c.job_id, c.run_id FROM {{keys}} g
JOIN ol_run r ON r.parent_run_id = g.c AND r.org_id = ?1
JOIN column_report c ON c.run_id = r.run_id AND {_OF_UNIT}
"""
_HEADS = """
SELECT h.target_id, h.application_id, h.unit_id, h.succeeded, h.job_id, h.set_id FROM {keys} g
JOIN column_head h ON h.target_id = g.a AND h.application_id = g.b AND h.org_id = ?1
"""
_DELETE_HEADS = "DELETE FROM column_head WHERE org_id = ?1 AND target_id = ?2 AND application_id = ?3"
_INSERT_HEADS = Insert(
    "column_head",
    {
        "org_id": str, "target_id": bytes, "application_id": bytes, "job_id": bytes, "set_id": bytes,
        "unit_id": bytes, "succeeded": bool,
    },
    "ON CONFLICT DO NOTHING",
)  # fmt: skip
_ACTIVE_SETS = """
SELECT DISTINCT h.job_id, h.target_id, s.set_id, s.members FROM {keys} g
JOIN column_head h ON h.job_id = g.a AND h.target_id = g.b AND h.org_id = ?1
JOIN lineage_set s ON s.set_id = h.set_id AND s.org_id = h.org_id
"""
_LINEAGE_ROWS = """
SELECT g.a, g.b, c.source_id, c.lineage_id, c.is_active FROM {keys} g
JOIN column_lineage c ON c.target_id = g.b AND c.job_id = g.a AND c.org_id = ?1
"""
_INACTIVE_ROWS = f"{_LINEAGE_ROWS} AND NOT c.is_active"
_ACTIVATE = """
UPDATE column_lineage SET is_active = ?5 WHERE org_id = ?1 AND target_id = ?2 AND source_id = ?3 AND lineage_id = ?4
"""
_REPORT_KEYS = """
SELECT target_id, job_id, run_id FROM run_lineage
WHERE org_id = ?1 AND (target_id, job_id, run_id) > (?2, ?3, ?4) ORDER BY target_id, job_id, run_id LIMIT ?5
"""


class _Head(NamedTuple):
    """The application run with the reports that count, and the sets of column lineage that its jobs report.

    If it has successful runs, only these count.
    """

    unit: bytes
    succeeded: bool
    sets: frozenset[_JobSet]


class ActiveColumnLineage:
    """Maintains `column_report`, `column_head` and the column `column_lineage.is_active`, which derives from them."""

    def __init__(self, db: Database, org: str) -> None:
        self._db = db
        self._org = org
        self._reports = ColumnReports(db, org)

    def update(self, changes: Reducer, retyped_jobs: set[bytes], merged_rows: Iterable[ColumnLineageRow]) -> None:
        """Update the heads that the changes affect, and activate what they report.

        `merged_rows` are the rows of column lineage that the merge may have inserted. They are active at first.
        """
        rows_by_pair: dict[_Pair, set[_LineageRow]] = {}
        for row in merged_rows:
            rows_by_pair.setdefault((row.job_id, row.target_id), set()).add((row.source_id, row.lineage_id))
        members = {row.set_id: row.members for row in changes.rows(LineageSetRow)}
        keys = self._reports.affected_keys(changes, retyped_jobs)
        head_changes = self._apply(self._find_and_lock(keys, changes))
        inactive_candidates = {
            pair: rows
            for pair, rows in rows_by_pair.items()
            if not _are_added(rows, head_changes.added.get(pair, set()), members)
        }
        self._update_is_active(head_changes, inactive_candidates)

    def recompute_all(self) -> set[bytes]:
        """Derive everything again. Return all targets of column lineage."""
        self._db.lock(f"column lineage of {self._org}")
        for table in ("column_report", "column_head"):
            self._db.execute(f"DELETE FROM {table} WHERE org_id = ?1", self._org)
        targets: set[bytes] = set()
        last_key: ReportKey = (b"", b"", b"")
        while keys := self._db.fetch_all(_REPORT_KEYS, self._org, *last_key, _BATCH):
            head_changes = self._apply(self._reports.find_changes(set(keys), Reducer()))
            head_changes.reduced.update((job, target) for target, job, _ in keys)  # their rows may be active
            self._update_is_active(head_changes, {})
            targets.update(target for target, _, _ in keys)
            last_key = keys[-1]
        return targets

    def _find_and_lock(self, keys: set[ReportKey], changes: Reducer) -> list[ReportChange]:
        """Find changed reports, and lock their applications against other writers."""
        locked_jobs = {row.job_id for row in changes.rows(JobRow)}  # locked by the merge
        while True:
            report_changes = self._reports.find_changes(keys, changes)
            reports = [report for change in report_changes for report in change if report]
            applications = {report.application for report in reports}
            if self._db.embedded or applications <= locked_jobs:
                return report_changes
            for job in sorted(applications - locked_jobs):
                self._db.lock_rows(_JOB_TO_LOCK, self._org, job)
            locked_jobs |= applications

    def _apply(self, report_changes: list[ReportChange]) -> "_HeadChanges":
        """Store changed reports, and update the heads of their targets and applications."""
        self._reports.save(report_changes)
        changes_by_pair: dict[TargetPair, list[ReportChange]] = {}
        for change in report_changes:
            for pair in {report.pair for report in change if report}:
                changes_by_pair.setdefault(pair, []).append(change)
        previous = self._read_heads(changes_by_pair)
        current = self._derive_heads(changes_by_pair, previous)
        head_changes = _HeadChanges(defaultdict(set), set(), set())
        deleted, inserted = [], []
        for pair, changes in changes_by_pair.items():
            before, after = previous.get(pair), current.get(pair)
            if before == after:
                continue
            if before:
                deleted.append((self._org, *pair))
            if after:
                inserted += [(self._org, *pair, *job_set, after.unit, after.succeeded) for job_set in after.sets]
            head_changes.add(pair[0], before.sets if before else frozenset(), after.sets if after else frozenset())
            if before is None and not any(change.before for change in changes):
                head_changes.first_reports.add((pair[1], pair[0]))
        self._db.execute_many(_DELETE_HEADS, deleted)
        self._db.insert(_INSERT_HEADS, sorted(inserted))
        return head_changes

    def _read_heads(self, pairs: Iterable[TargetPair]) -> dict[TargetPair, _Head]:
        heads: dict[TargetPair, _Head] = {}
        for target, application, unit, succeeded, *job_set in self._db.fetch_for_keys(_HEADS, list(pairs), self._org):
            head = heads.get((target, application)) or _Head(unit, bool(succeeded), frozenset())
            heads[target, application] = head._replace(sets=head.sets | {tuple(job_set)})
        return heads

    def _derive_heads(
        self, changes_by_pair: Mapping[TargetPair, list[ReportChange]], previous: Mapping[TargetPair, _Head]
    ) -> dict[TargetPair, _Head]:
        """Derive heads from the newest application runs. Read the other reports of such a run only if necessary."""
        # A pair without a head has no other reports.
        heads = {
            pair: _first_head(pair, changes) for pair, changes in changes_by_pair.items() if pair not in previous
        }
        heads |= {pair: head for pair, head in previous.items() if _is_unaffected(pair, head, changes_by_pair[pair])}
        incomplete: dict[TargetPair, _Head] = {}
        known_reports: dict[ReportKey, ColumnReport] = {}
        other_pairs = [pair for pair in previous if pair not in heads]
        for target, application, unit, succeeded in self._db.fetch_for_keys(_NEWEST, other_pairs, self._org):
            if unit is None:
                continue
            pair = (target, application)
            head = _Head(unit, bool(succeeded), frozenset())
            before = previous.get(pair)
            reports = [change.after for change in changes_by_pair[pair] if change.after]
            is_same = before is not None and before._replace(sets=frozenset()) == head
            if is_same and not any(_counts_for(pair, head, change.before) for change in changes_by_pair[pair]):
                counted = [report for report in reports if _counts_for(pair, head, report)]
                heads[pair] = head._replace(sets=_sets_of(pair, counted, before.sets if before else frozenset()))
            else:
                incomplete[pair] = head
                known_reports.update((report.key, report) for report in reports)
        return heads | self._complete_heads(incomplete, known_reports)

    def _complete_heads(
        self, heads: Mapping[TargetPair, _Head], known_reports: Mapping[ReportKey, ColumnReport]
    ) -> dict[TargetPair, _Head]:
        """Complete heads by what the reports of their application runs contain."""
        report_keys = {(*pair, NO_ID) for pair, head in heads.items() if head.unit == NO_ID}
        units = [(*pair, head.unit) for pair, head in heads.items() if head.unit != NO_ID]
        for target, application, succeeded, job, run in self._db.fetch_for_keys(_REPORTS_OF_UNITS, units, self._org):
            if heads[target, application].succeeded == bool(succeeded):
                report_keys.add((target, job, run))
        reports: dict[TargetPair, list[ColumnReport]] = {}
        known = [known_reports[key] for key in report_keys & known_reports.keys()]
        for report in [*known, *self._reports.read(report_keys - known_reports.keys())]:
            reports.setdefault(report.pair, []).append(report)
        return {
            pair: head._replace(sets=_sets_of(pair, reports.get(pair, []), frozenset()))
            for pair, head in heads.items()
        }

    def _update_is_active(
        self, head_changes: "_HeadChanges", inactive_candidates: Mapping[_Pair, set[_LineageRow]]
    ) -> None:
        """Activate the rows that heads contain, and deactivate the other rows of the same job and target."""
        active_by_row: dict[_Pair, dict[_LineageRow, bool]] = defaultdict(dict)
        for pair, rows in inactive_candidates.items():
            active_by_row[pair].update(dict.fromkeys(rows, True))
        activated_pairs = head_changes.added.keys() - head_changes.first_reports
        for sql, pairs in ((_INACTIVE_ROWS, activated_pairs), (_LINEAGE_ROWS, head_changes.reduced)):
            for job, target, source, row_id, active in self._db.fetch_for_keys(sql, sorted(pairs), self._org):
                active_by_row[job, target][source, row_id] = bool(active)
        active_ids: dict[_Pair, set[bytes]] = defaultdict(set)
        for job, target, _, members in self._db.fetch_for_keys(_ACTIVE_SETS, sorted(active_by_row), self._org):
            active_ids[job, target].update(split_ids(members))
        updates = [
            (self._org, target, source, row_id, row_id in active_ids[job, target])
            for (job, target), rows in sorted(active_by_row.items())
            for (source, row_id), was_active in sorted(rows.items())
            if was_active != (row_id in active_ids[job, target])
        ]
        self._db.execute_many(_ACTIVATE, updates)


class _HeadChanges(NamedTuple):
    """The sets that became active, and the jobs and targets that lost active sets."""

    added: defaultdict[_Pair, set[bytes]]
    reduced: set[_Pair]
    #: Applications that had reported nothing of the target before. An action may have, for another application.
    first_reports: set[_Pair]

    def add(self, target: bytes, before: frozenset[_JobSet], after: frozenset[_JobSet]) -> None:
        for job, set_id in after - before:
            self.added[job, target].add(set_id)
        self.reduced.update((job, target) for job, _ in before - after)


def _are_added(rows: set[_LineageRow], added_sets: set[bytes], members: Mapping[bytes, bytes]) -> bool:
    """Return whether all rows are members of sets that became active, as far as the members are known."""
    added_ids = {row_id for set_id in added_sets if set_id in members for row_id in split_ids(members[set_id])}
    return all(row_id in added_ids for _, row_id in rows)


def _first_head(pair: TargetPair, changes: Iterable[ReportChange]) -> _Head:
    """Derive a head from all reports of a target and application."""
    reports = [change.after for change in changes if change.after and change.after.pair == pair]
    newest = max(reports, key=lambda report: (report.succeeded, report.run_start, report.unit))
    head = _Head(newest.unit, newest.succeeded, frozenset())
    counted = [report for report in reports if _counts_for(pair, head, report)]
    return head._replace(sets=_sets_of(pair, counted, frozenset()))


def _is_unaffected(pair: TargetPair, head: _Head, changes: Iterable[ReportChange]) -> bool:
    """Return whether changes concern neither the reports of a head nor reports that could replace them.

    For example, a run that has just started replaces no successful run.
    """
    return not any(
        _counts_for(pair, head, change.before)
        or (change.after and change.after.pair == pair and change.after.succeeded >= head.succeeded)
        for change in changes
    )


def _counts_for(pair: TargetPair, head: _Head, report: ColumnReport | None) -> bool:
    return report is not None and (report.pair, report.unit, report.succeeded) == (pair, head.unit, head.succeeded)


def _sets_of(pair: TargetPair, reports: Iterable[ColumnReport], other_sets: frozenset[_JobSet]) -> frozenset[_JobSet]:
    """Return the sets of reports by job; a head without any set has NO_ID in its place."""
    _, application = pair
    placeholder = (application, NO_ID)
    sets = {(report.job, set_id) for report in reports for set_id in report.sets} | other_sets
    return frozenset(sets - {placeholder} or {placeholder})

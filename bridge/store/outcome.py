"""How runs ended, computed when read: listeners leave out ends, and call a failed application complete.

Nothing here reads the clock: a run is cut short when its application has ended, not when it is late. Of a run that is
only mentioned, as the parent of others, nobody ever says how it is.
"""

from bridge.store.dialect import Dialect

_ENDS = "('COMPLETE', 'FAIL', 'ABORT')"
#: The SQL action of an application that ended last: the listener calls the application complete however it ended.
_LAST_ACTION = f"""
SELECT c.run_id FROM ol_run c
JOIN ol_job cj ON cj.org_id = c.org_id AND cj.job_id = c.job_id
WHERE c.org_id = r.org_id AND c.parent_run_id = r.run_id AND cj.job_type = 'SQL_JOB' AND c.event_type IN {_ENDS}
ORDER BY c.event_time DESC, c.run_id DESC LIMIT 1
"""


def run_outcome(d: Dialect) -> str:
    """Write the query of every run's outcome: as reported, or derived from its actions or its application.

    What an outcome is derived from is joined, so that it is found once however often it is used.
    """
    return f"""
SELECT r.org_id, r.run_id,
  CASE WHEN r.event_type = 'FAIL' OR x.run_id IS NOT NULL THEN 'FAILED' WHEN r.event_type = 'ABORT' THEN 'CANCELLED'
    WHEN r.event_type = 'COMPLETE' THEN 'SUCCESS'
    WHEN r.least_claimant IS NULL OR coalesce(p.run_id, q.run_id) IS NOT NULL THEN 'UNKNOWN'
    ELSE 'STARTED' END AS status,
  coalesce(x.run_id, p.run_id, q.run_id) IS NOT NULL AS status_derived,
  CASE WHEN r.event_type IN {_ENDS} THEN r.event_time ELSE coalesce(p.event_time, q.event_time) END AS ended_at,
  CASE WHEN r.event_type IN ('FAIL', 'ABORT') OR x.run_id IS NOT NULL
    THEN coalesce({_error_of("r", d)}, {_error_of("x", d)}) END AS error
FROM ol_run r
JOIN ol_job j ON j.org_id = r.org_id AND j.job_id = r.job_id
LEFT JOIN ol_run x ON x.org_id = r.org_id AND x.event_type = 'FAIL'
  AND x.run_id = CASE WHEN r.event_type = 'COMPLETE' AND j.job_type = 'APPLICATION' THEN ({_LAST_ACTION}) END
{_ended_application("p", "parent_run_id")}
{_ended_application("q", "root_run_id")}
"""


def _ended_application(alias: str, above: str) -> str:
    """Join the application in which a run without an end began, if it has ended."""
    return f"""LEFT JOIN ol_run {alias} ON {alias}.org_id = r.org_id
  AND {alias}.run_id = CASE WHEN r.event_type IN {_ENDS} THEN NULL ELSE r.{above} END
  AND {alias}.event_type IN {_ENDS} AND 'APPLICATION' = (
    SELECT aj.job_type FROM ol_job aj WHERE aj.org_id = {alias}.org_id AND aj.job_id = {alias}.job_id)"""


def _error_of(run: str, d: Dialect) -> str:
    """Pick what a run said of its failure; the standard facet goes before Spark's own, as its name does."""
    return f"""(
    SELECT m.message FROM (SELECT f.name, {d.message.format("f.body")} AS message FROM facet f
      WHERE f.org_id = {run}.org_id AND f.owner_id = {run}.run_id AND f.about_id = {d.nobody}
        AND f.name IN ('errorMessage', 'spark.exception')) m
    WHERE m.message <> '' ORDER BY m.name LIMIT 1)"""


def process_run(d: Dialect) -> str:
    """Write the query of runs in the shape of the catalogue."""
    return f"""
SELECT r.org_id, r.run_id, r.run_uuid, r.job_id AS process_id,
  {d.iso.format("coalesce(r.started_at, r.created_at)")} AS start_ts, {d.iso.format("o.ended_at")} AS end_ts,
  o.status, o.status_derived, o.error AS error_message,
  r.least_claimant <> r.greatest_claimant AS claim_disputed,
  1 AS attempt, r.parent_run_uuid, NULL AS log_location,
  (SELECT {d.run_facets.format("f.name", "f.body")} FROM (
     SELECT name, body FROM facet
     WHERE org_id = r.org_id AND owner_id = r.run_id AND about_id = {d.nobody} AND body IS NOT NULL
     ORDER BY name) f) AS facets_json,
  {d.iso.format("r.created_at")} AS created_at,
  (SELECT {d.iso.format("max(at.seen)")} FROM (
     SELECT r.updated_at AS seen
     UNION ALL SELECT c.updated_at FROM ol_run c
     WHERE c.org_id = r.org_id AND c.parent_run_id = r.run_id) at) AS last_activity_ts
FROM ol_run r
JOIN run_outcome o ON o.org_id = r.org_id AND o.run_id = r.run_id
"""

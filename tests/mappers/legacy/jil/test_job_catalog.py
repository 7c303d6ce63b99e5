"""Job catalogs: statements, checks, datasets, events and differences."""

import json

import pytest

from mappers.legacy.jil.dataset_scanner import find_datasets
from mappers.legacy.jil.definition import diff_catalogs
from mappers.legacy.jil.job_catalog import JobCatalog, JobDefinition
from mappers.legacy.jil.job_events import ScanOptions, build_job_events, build_retirement_event, job_dependencies
from mappers.legacy.jil.lint import lint, unsupported_definitions
from mappers.legacy.jil.parser import parse_jil
from mappers.legacy.jil.programs import OptionConventions
from mappers.legacy.jil.schedule import job_schedule, job_sla, success_rule


def build_catalog(*texts: str) -> JobCatalog:
    catalog = JobCatalog()
    for number, text in enumerate(texts):
        parsed = parse_jil(text, f"{number}.jil")
        catalog.problems += parsed.problems
        catalog.apply(parsed.statements)
    return catalog


def build_job(text: str) -> JobDefinition:
    return next(iter(build_catalog(f"insert_job: J\n{text}\n").jobs.values()))


APPLIED = {
    "an update changes what it names": (["insert_job: A\nmachine: m\nowner: o", "update_job: A\nmachine: n"], {"A": {"machine": "n", "owner": "o"}}),
    "NULL removes a value": (["insert_job: A\nmachine: m", "update_job: A\nmachine: NULL"], {"A": {}}),
    "deleted and inserted again": (["insert_job: A\nmachine: m", "delete_job: A", "insert_job: A\nowner: o"], {"A": {"owner": "o"}}),
    "a box is deleted with its members": (["insert_job: B\njob_type: b", "insert_job: A\nbox_name: B", "insert_job: C\nbox_name: B\njob_type: b", "insert_job: D\nbox_name: C", "delete_box: B"], {}),
    "a renamed box keeps its members": (["insert_job: B\njob_type: b", "insert_job: A\nbox_name: B", "rename_job: B\nnew_name: X"], {"X": {"job_type": "b"}, "A": {"box_name": "X"}}),
    "the order of files matters": (["update_job: A\nmachine: n", "insert_job: A\nmachine: m"], {"A": {"machine": "m"}}),
}  # fmt: skip


@pytest.mark.parametrize(("texts", "expected"), APPLIED.values(), ids=APPLIED)
def test_statements_are_applied_in_order(texts: list[str], expected: dict[str, dict[str, str]]) -> None:
    assert {definition.name: definition.values for definition in build_catalog(*texts).jobs.values()} == expected


PROBLEMS = {
    "inserted twice": ("insert_job: A\ninsert_job: A\n", "A is inserted twice, first in 0.jil:1: this definition is used"),
    "updated but missing": ("update_job: A\nmachine: m\n", "A is updated, but there is no such job: ignored"),
    "renamed to an existing name": ("insert_job: A\ninsert_job: B\nrename_job: A\nnew_name: B\n", "A is renamed to B, which already exists"),
    "renamed without a name": ("insert_job: A\nrename_job: A\n", "A is renamed, but new_name is missing"),
    "deleted but missing": ("delete_job: A\n", "A is deleted, but there is no such job"),
    "set twice": ("insert_job: A\nmachine: m\nmachine: n\n", "machine of A is set twice: the last value is used"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), PROBLEMS.values(), ids=PROBLEMS)
def test_invalid_statements_are_reported(text: str, message: str) -> None:
    (problem,) = build_catalog(text).problems
    assert problem.message.startswith(message)


def test_override_applies_to_the_next_run_and_envvars_accumulate() -> None:
    definition = build_catalog(
        "insert_job: A\nenvvars: X=1\nenvvars: Y=2\nmachine: m\n", "override_job: A\nmachine: n\n"
    ).jobs["A"]
    assert (definition.accumulated["envvars"], definition.values["machine"], definition.override) == (
        ["X=1", "Y=2"],
        "m",
        {"machine": "n"},
    )


@pytest.mark.parametrize(
    ("value", "expected"), [("b", "BOX"), ("BOX", "BOX"), ("c", "CMD"), ("f", "FW"), ("MINE", "MINE")]
)
def test_job_types_are_normalized(value: str, expected: str) -> None:
    assert build_job(f"job_type: {value}").type == expected


def test_boxes_can_be_nested_and_a_cycle_ends_the_walk() -> None:
    catalog = build_catalog("insert_job: A\nbox_name: B\ninsert_job: B\nbox_name: C\ninsert_job: C\nbox_name: B\n")
    assert catalog.enclosing_boxes(catalog.jobs["A"]) == ("C", "B")


DEPENDENCIES = {
    "s(A)": {("PRD", "A", "SUCCESS")},
    "s(A) & f(B^TST) | d(C)": {("PRD", "A", "SUCCESS"), ("TST", "B", "FAILURE"), ("PRD", "C", "DONE")},
    "s(A) & s(A,00.30)": {("PRD", "A", "SUCCESS")},
    "n(A)": set(),
    "v(G) = 1": set(),
    "e(A) > 4": {("PRD", "A", "EXITCODE > 4")},
    "t(A": set(),
}


@pytest.mark.parametrize(("condition", "expected"), DEPENDENCIES.items())
def test_job_dependencies_are_distinct(condition: str, expected: set[tuple[str, str, str]]) -> None:
    assert set(job_dependencies(build_job(f"condition: {condition}"), "PRD")) == expected


DATASETS = {
    "a file that is watched": ("job_type: f\nwatch_file: /in/a", {("input", "file", "/in/a")}),
    "standard input": ("std_in_file: /in/a\ncommand: x", {("input", "file", "/in/a")}),
    "standard output that is data": ("std_out_file: >/out/a.csv\ncommand: x", {("output", "file", "/out/a.csv")}),
    "standard output that is a log": ("std_out_file: /var/log/a.log\ncommand: x", set()),
    "copied": ("command: cp -p /in/a /in/b /out/", {("input", "file", "/in/a"), ("input", "file", "/in/b"), ("output", "file", "/out/a"), ("output", "file", "/out/b")}),
    "redirected": ("command: /x.sh < /in/a > /out/b 2> /out/err", {("input", "file", "/in/a"), ("output", "file", "/out/b")}),
    "cut at a backslash": ("command: cp /in/a /in/b \\", set()),
    "discarded output": ("command: /x.sh > /dev/null 2>&1", set()),
    "by options": ("command: spark-submit j.py --input s3a://b/in --output=hdfs://nn/out", {("input", "s3://b", "in"), ("output", "hdfs://nn", "/out")}),
    "in a shell": ("command: ksh -c 'cp /in/a /out/b'", {("input", "file", "/in/a"), ("output", "file", "/out/b")}),
    "after a wrapper": ("command: nohup time cp /in/a /out/b", {("input", "file", "/in/a"), ("output", "file", "/out/b")}),
    "with a known variable": ("envvars: D=/data\ncommand: cp $D/a ${D}/b", {("input", "file", "/data/a"), ("output", "file", "/data/b")}),
    "with an unknown variable": ("command: cp $D/a /out/b", {("output", "file", "/out/b")}),
    "uploaded": ("job_type: FTP\nftp_local_name: /in/a\nftp_remote_name: /r/a\nftp_server_name: h\nftp_transfer_direction: UPLOAD", {("input", "file", "/in/a"), ("output", "sftp://h", "/r/a")}),
    "downloaded": ("job_type: SCP\nscp_local_name: /in/a\nscp_remote_dir: /r\nscp_remote_name: a\nscp_server_name: h\nscp_transfer_direction: DOWNLOAD", {("output", "file", "/in/a"), ("input", "sftp://h", "/r/a")}),
    "SQL": ("job_type: SQL\nconnect_string: jdbc:db2://h:50000/DB\nsql_command: INSERT INTO S.LEFT_OVER SELECT * FROM S.A JOIN B ON A.x = B.x", {("output", "db2://h:50000", "DB.S.LEFT_OVER"), ("input", "db2://h:50000", "DB.S.A"), ("input", "db2://h:50000", "DB.B")}),
    "SQL of Oracle": ("job_type: SQL\nconnect_string: jdbc\\:oracle\\:thin\\:@//h\\:1521/service\nsql_command: INSERT INTO S.A SELECT * FROM B", {("output", "oracle://h:1521", "service.S.A"), ("input", "oracle://h:1521", "service.B")}),
    "SQL of Oracle with a SID": ('job_type: SQL\nconnect_string: "jdbc:oracle:thin:@h:1521:sid"\nsql_command: DELETE FROM S.A', {("output", "oracle://h:1521", "sid.S.A")}),
    "SQL of SQL Server": ("job_type: SQL\nconnect_string: jdbc:sqlserver://h:1433;databaseName=x\nsql_command: INSERT INTO dbo.a SELECT * FROM dbo.b", {("output", "mssql://h:1433", "x.dbo.a"), ("input", "mssql://h:1433", "x.dbo.b")}),
    "invalid SQL": ("job_type: SQL\nsql_command: ((((", set()),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), DATASETS.values(), ids=DATASETS)
def test_datasets_of_definitions(text: str, expected: set[tuple[str, str, str]]) -> None:
    candidates = find_datasets(build_job(text)).datasets
    confident = {
        (candidate.side, candidate.namespace, candidate.name)
        for candidate in candidates
        if candidate.confidence >= 0.5
    }
    assert confident == expected
    assert all(candidate.evidence and 0 < candidate.confidence <= 1 for candidate in candidates)


def test_scripts_and_option_conventions() -> None:
    candidates = find_datasets(
        build_job("command: sqlplus u/p @/s/a.sql; db2 -tvf /s/b.sql; bteq < /s/c.btq; /x --von /a"),
        OptionConventions(inputs=frozenset({"--von"})),
    )
    assert candidates.scripts == ["/s/a.sql", "/s/b.sql", "/s/c.btq"]
    assert [(candidate.side, candidate.name) for candidate in candidates.datasets] == [("input", "/a")]


LINT = {
    "an undefined job": ("insert_job: A\ncondition: s(GONE)\n", ["condition waits for GONE, but there is no such job", "never starts"]),
    "one of two jobs is undefined": ("insert_job: A\ncondition: s(GONE) | s(B)\ninsert_job: B\n", ["condition waits for GONE"]),
    "left to right": ("insert_job: A\ncondition: s(B) | s(B) & s(GONE)\ninsert_job: B\n", ["condition waits for GONE", "never starts"]),
    "in a job that is not a box": ("insert_job: A\nbox_name: B\ninsert_job: B\n", ["is in B, which is not a box"]),
    "in an undefined box": ("insert_job: A\nbox_name: B\n", ["is in the box B, which does not exist"]),
    "an empty box": ("insert_job: B\njob_type: b\n", ["is an empty box"]),
    "a box that may never end": ("insert_job: B\njob_type: b\nbox_success: s(X)\ninsert_job: A\nbox_name: B\ninsert_job: X\n", ["box_success waits for X, which is not in the box"]),
    "nested in itself": ("insert_job: A\njob_type: b\nbox_name: A\n", ["is nested in itself"]),
    "nested in each other": ("insert_job: A\njob_type: b\nbox_name: B\ninsert_job: B\njob_type: b\nbox_name: A\n", ["is nested in itself", "is nested in itself"]),
    "waits for its enclosing box": ("insert_job: B\njob_type: b\ninsert_job: C\njob_type: b\nbox_name: B\ninsert_job: A\nbox_name: C\ncondition: s(B)\n", ["condition waits for its enclosing box B", "never starts"]),
    "waits for its enclosing box or another job": ("insert_job: B\njob_type: b\ninsert_job: A\nbox_name: B\ncondition: s(B) | s(X)\ninsert_job: X\n", ["condition waits for its enclosing box B"]),
    "times without date_conditions": ("insert_job: A\nstart_times: 10:00\n", ["start_times have no effect without date_conditions: 1"]),
    "times without days": ("insert_job: A\ndate_conditions: 1\nstart_times: 10:00\n", ["date_conditions is on, but neither"]),
    "days and a calendar": ("insert_job: A\ndate_conditions: y\ndays_of_week: mo\nrun_calendar: c\n", ["days_of_week and run_calendar are mutually exclusive"]),
    "a cycle": ("insert_job: A\ncondition: s(B)\ninsert_job: B\ncondition: s(A)\n", ["waits in a cycle: A <- B <- A"]),
    "not a cycle": ("insert_job: A\ncondition: n(B)\ninsert_job: B\ncondition: s(A)\n", []),
    "another instance": ("insert_job: A\ncondition: s(B^PRD)\n", ["condition waits for B of PRD, which is not declared"]),
    "a declared instance": ("insert_xinst: PRD\nxtype: a\ninsert_job: A\ncondition: s(B^PRD)\n", []),
    "a global": ("insert_job: A\ncondition: v(G) = 1\n", ["condition uses the global G"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), LINT.values(), ids=LINT)
def test_lint_finds_problems(text: str, expected: list[str]) -> None:
    messages = [diagnostic.message.partition(" ")[2] for diagnostic in lint(build_catalog(text))]
    assert len(messages) == len(expected), messages
    assert all(any(message.startswith(prefix) for message in messages) for prefix in expected), messages


INSTANCES = [("insert_job: A\ncondition: s(X^PRD)\ninsert_job: X\n", []), ("insert_job: A\ncondition: s(X^PRD) & s(Y^DR)\n", ["A condition waits for X", "A condition waits for Y of DR", "A never starts"])]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), INSTANCES)
def test_jobs_of_the_own_instance_are_jobs_of_the_catalog(text: str, expected: list[str]) -> None:
    messages = [diagnostic.message for diagnostic in lint(build_catalog(text), "PRD")]
    assert [message.startswith(prefix) for message, prefix in zip(messages, expected, strict=True)] == [True] * len(
        expected
    )


INVALID_VALUES = [
    ("max_run_alarm: abc", "error"), ("min_run_alarm: 1.5", "error"), ("term_run_time: x", "error"), ("n_retrys: -1", "error"),
    ('start_times: "10:00, 25:00"', "error"), ("start_mins: 5,60", "error"), ("days_of_week: mo,xx", "error"),
    ("must_start_times: banana", "error"), ("run_window: 10:00", "error"), ("success_codes: 0,x", "error"), ("timezone: Nowhere/City", "warning"),
]  # fmt: skip
VALID_VALUES = [
    "max_run_alarm: 30", 'start_times: "10:00, 4:00"', "start_mins: 0,59", "days_of_week: MO, tue,sunday", "days_of_week: all",
    'must_start_times: "04:40, 25:00"', 'must_complete_times: "+30"', 'run_window: "23:00 - 02:00"', "success_codes: 0, 5-9", "fail_codes: 1",
    "timezone: Europe/London", "timezone: Chicago", "timezone: EST5EDT", "start_times: $$WHEN", "max_run_alarm: ~{$MAX}~", "max_run_alarm:",
]  # fmt: skip


@pytest.mark.parametrize(("line", "level"), INVALID_VALUES)
def test_invalid_values_are_reported(line: str, level: str) -> None:
    (diagnostic,) = unsupported_definitions(build_catalog(f"insert_job: A\n{line}\n"))
    assert (diagnostic.level, diagnostic.message.startswith(f"A {line.partition(':')[0]}: ")) == (level, True)


@pytest.mark.parametrize("line", VALID_VALUES)
def test_valid_values_are_accepted(line: str) -> None:
    assert unsupported_definitions(build_catalog(f"insert_job: A\n{line}\n")) == []


def test_invalid_times_are_not_deadlines() -> None:
    text = "date_conditions: 1\nmust_start_times: banana\nmust_complete_times: 10:00,x\nmax_run_alarm: abc"
    assert job_sla(build_job(text)) == {"must_complete_times": ["10:00"]}


def test_invalid_condition_is_reported_by_every_scan() -> None:
    (diagnostic,) = unsupported_definitions(build_catalog("insert_job: A\ncondition: s(B\ninsert_job: B\n"))
    assert diagnostic.message == "A condition is not a condition: unexpected end of condition"


def test_cycle_of_thousands_of_jobs() -> None:
    text = "".join(f"insert_job: J{i}\ncondition: s(J{(i + 1) % 3000})\n" for i in range(3000))
    assert [diagnostic.message.partition(" <- ")[0] for diagnostic in lint(build_catalog(text))] == [
        "J0 waits in a cycle: J0"
    ]


def test_schedule_and_sla() -> None:
    definition = build_job(
        'date_conditions: 1\ndays_of_week: mo,tu\nstart_times: "04:00, 16:00"\ntimezone: Europe/London\nmust_complete_times: "+30"\nmax_run_alarm: 45\nfail_codes: 9'
    )
    assert job_schedule(definition) == {
        "active": True, "days_of_week": ["mo", "tu"], "start_times": ["04:00", "16:00"], "timezone": "Europe/London",
        "must_complete_times": ["+30"],
    }  # fmt: skip
    assert job_sla(definition) == {"must_complete_times": ["+30"], "timezone": "Europe/London", "max_duration": "45m"}
    assert success_rule(definition) == {"fail_codes": "9"}
    assert job_sla(build_job("must_complete_times: 10:00")) is None, "without date_conditions there are no deadlines"


def test_job_event_is_complete_and_contains_no_secrets() -> None:
    catalog = build_catalog(
        "insert_job: B\njob_type: b\n",
        "insert_job: J\nbox_name: B\nowner: ann@h\ncondition: s(X)\ncommand: /x --password pw > /out/a\n",
    )
    _, event = (
        json.loads(payload) for payload in build_job_events(catalog, ScanOptions("PRD", "2026-01-01T00:00:00Z"))
    )
    facets = event["job"]["facets"]
    assert (event["job"]["namespace"], event["job"]["name"]) == ("autosys://PRD", "J")
    assert facets["lineageBridge_autosys"]["processKey"] == "AUTOSYS/B/J"
    assert facets["lineageBridge_boxes"]["boxes"] == ["B"]
    assert facets["lineage"]["entries"] == [
        {"type": "DATASET", "namespace": "file", "name": "/out/a", "inputs": [{"type": "JOB"}]}
    ]
    assert "pw " not in json.dumps(event)
    assert facets["lineageBridge_jobDependencies"]["upstream"][0]["status_trigger_rule"] == "SUCCESS"


def test_retired_job_has_no_dependencies_and_no_lineage() -> None:
    facets = json.loads(build_retirement_event("J", ScanOptions("PRD", "2026-01-01T00:00:00Z")))["job"]["facets"]
    assert (facets["lineage"]["entries"], facets["lineageBridge_jobDependencies"]["upstream"]) == ([], [])


def test_differences_between_catalogs() -> None:
    before = build_catalog("insert_job: A\nmachine: m\ninsert_job: B\n")
    after = build_catalog("insert_job: A\nmachine: n\nowner: o\ninsert_job: C\n")
    assert [tuple(change) for change in diff_catalogs(before, after)] == [
        ("A", "changed", "machine", "m", "n"), ("A", "changed", "owner", None, "o"), ("B", "removed", None, None, None),
        ("C", "added", None, None, None),
    ]  # fmt: skip


EQUIVALENT = [
    ("job_type: c", "job_type: CMD"), ("job_type: b", "job_type: BOX"), ("job_type: f", "job_type: fw"),
    ("job_type: box", "job_type: B"), ("owner: o", "job_type: c\nowner: o"),
    ("date_conditions: 1", "date_conditions: y"), ("alarm_if_fail: 0", "alarm_if_fail: NO"),
    ("box_terminator: true", "box_terminator: yes"), ("description: x", 'description: "x"'),
    ('start_times: "10:00,11:00"', 'start_times: "10:00", "11:00"'), ("start_mins: 5,10", "start_mins: 5, 10"),
    ("days_of_week: mo,tu", "days_of_week: MO, TU"), ("machine: m1,m2", "machine: m1, m2"),
    ("condition: success(A) AND s(B)", "condition: s(A)&s(B)"), ("condition: (s(A) | s(B)) & d(C)", "condition: s(A) or s(B) and done(C)"),
    ("condition: s(A,9999)", "condition: s(A)"), ("condition: s(A, 2)", "condition: s(A,02.00)"),
    ('condition: v(G) = "x" & e(A)>=4', "condition: value(G)=x and exitcode(A) >= 4"),
    ("condition: f(A^PRD,00\\:30)", "condition: failure(A^PRD, 00.30)"),
]  # fmt: skip
DIFFERENT = [
    ("auto_delete: 1", "auto_delete: y"), ("command: x  y", "command: x y"), ("send_notification: y", "send_notification: f"),
    ("condition: s(A) | s(B) & d(C)", "condition: s(A) | (s(B) & d(C))"), ("condition: s(A, 0)", "condition: s(A)"),
    ("condition: s(A", "condition: s( A"), ("start_times: 10:00,11:00", "start_times: 11:00,10:00"),
    ('condition: v(G) = "x y"', "condition: v(G) = x"), ("job_type: f", "job_type: FT"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), EQUIVALENT)
def test_equivalent_values_are_not_differences(left: str, right: str) -> None:
    before, after = build_catalog(f"insert_job: J\n{left}\n"), build_catalog(f"insert_job: J\n{right}\n")
    assert diff_catalogs(before, after) == []


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_different_values_are_differences(left: str, right: str) -> None:
    before, after = build_catalog(f"insert_job: J\n{left}\n"), build_catalog(f"insert_job: J\n{right}\n")
    assert len(diff_catalogs(before, after)) == 1

"""Estates: what statements leave, what is wrong with it, what it speaks of, and how it is told."""

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


def estate(*texts: str) -> JobCatalog:
    found = JobCatalog()
    for number, text in enumerate(texts):
        read = parse_jil(text, f"{number}.jil")
        found.problems += read.problems
        found.apply(read.statements)
    return found


def job(text: str) -> JobDefinition:
    return next(iter(estate(f"insert_job: J\n{text}\n").jobs.values()))


AFTER = {
    "an update changes what it names": (["insert_job: A\nmachine: m\nowner: o", "update_job: A\nmachine: n"], {"A": {"machine": "n", "owner": "o"}}),
    "NULL takes away": (["insert_job: A\nmachine: m", "update_job: A\nmachine: NULL"], {"A": {}}),
    "deleted and made anew": (["insert_job: A\nmachine: m", "delete_job: A", "insert_job: A\nowner: o"], {"A": {"owner": "o"}}),
    "a box goes with all in it": (["insert_job: B\njob_type: b", "insert_job: A\nbox_name: B", "insert_job: C\nbox_name: B\njob_type: b", "insert_job: D\nbox_name: C", "delete_box: B"], {}),
    "renamed, with those in it": (["insert_job: B\njob_type: b", "insert_job: A\nbox_name: B", "rename_job: B\nnew_name: X"], {"X": {"job_type": "b"}, "A": {"box_name": "X"}}),
    "the order of files counts": (["update_job: A\nmachine: n", "insert_job: A\nmachine: m"], {"A": {"machine": "m"}}),
}  # fmt: skip


@pytest.mark.parametrize(("texts", "left"), AFTER.values(), ids=AFTER)
def test_statements_are_done_one_after_the_other(texts: list[str], left: dict[str, dict[str, str]]) -> None:
    assert {one.name: one.values for one in estate(*texts).jobs.values()} == left


TOLD = {
    "inserted twice": ("insert_job: A\ninsert_job: A\n", "A is inserted twice, first in 0.jil:1: this definition is used"),
    "updated and not there": ("update_job: A\nmachine: m\n", "A is updated, but there is no such job: ignored"),
    "renamed to one that is there": ("insert_job: A\ninsert_job: B\nrename_job: A\nnew_name: B\n", "A is renamed to B, which there is already"),
    "renamed to nothing": ("insert_job: A\nrename_job: A\n", "A is renamed, but new_name is missing"),
    "deleted and not there": ("delete_job: A\n", "A is deleted, but there is no such job"),
    "said twice": ("insert_job: A\nmachine: m\nmachine: n\n", "machine of A is set twice: the last value is used"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), TOLD.values(), ids=TOLD)
def test_what_cannot_be_done_is_told(text: str, said: str) -> None:
    (one,) = estate(text).problems
    assert one.message.startswith(said)


def test_an_override_is_of_the_next_run_and_envvars_gather() -> None:
    found = estate("insert_job: A\nenvvars: X=1\nenvvars: Y=2\nmachine: m\n", "override_job: A\nmachine: n\n").jobs[
        "A"
    ]
    assert (found.accumulated["envvars"], found.values["machine"], found.override) == (
        ["X=1", "Y=2"],
        "m",
        {"machine": "n"},
    )


@pytest.mark.parametrize(
    ("sent", "kind"), [("b", "BOX"), ("BOX", "BOX"), ("c", "CMD"), ("f", "FW"), ("MINE", "MINE")]
)
def test_types_have_one_spelling(sent: str, kind: str) -> None:
    assert job(f"job_type: {sent}").type == kind


def test_boxes_may_lie_in_boxes_and_one_in_itself_ends_the_walk() -> None:
    found = estate("insert_job: A\nbox_name: B\ninsert_job: B\nbox_name: C\ninsert_job: C\nbox_name: B\n")
    assert found.enclosing_boxes(found.jobs["A"]) == ("C", "B")


DEPENDS = {
    "s(A)": {("PRD", "A", "SUCCESS")},
    "s(A) & f(B^TST) | d(C)": {("PRD", "A", "SUCCESS"), ("TST", "B", "FAILURE"), ("PRD", "C", "DONE")},
    "s(A) & s(A,00.30)": {("PRD", "A", "SUCCESS")},
    "n(A)": set(),
    "v(G) = 1": set(),
    "e(A) > 4": {("PRD", "A", "EXITCODE > 4")},
    "t(A": set(),
}


@pytest.mark.parametrize(("condition", "found"), DEPENDS.items())
def test_what_a_job_waits_for_is_each_job_and_status_once(condition: str, found: set[tuple[str, str, str]]) -> None:
    assert set(job_dependencies(job(f"condition: {condition}"), "PRD")) == found


SPEAKS = {
    "a file that is watched": ("job_type: f\nwatch_file: /in/a", {("input", "file", "/in/a")}),
    "standard input": ("std_in_file: /in/a\ncommand: x", {("input", "file", "/in/a")}),
    "standard output that is data": ("std_out_file: >/out/a.csv\ncommand: x", {("output", "file", "/out/a.csv")}),
    "standard output that is a log": ("std_out_file: /var/log/a.log\ncommand: x", set()),
    "copied": ("command: cp -p /in/a /in/b /out/", {("input", "file", "/in/a"), ("input", "file", "/in/b"), ("output", "file", "/out/a"), ("output", "file", "/out/b")}),
    "redirected": ("command: /x.sh < /in/a > /out/b 2> /out/err", {("input", "file", "/in/a"), ("output", "file", "/out/b")}),
    "cut at a backslash": ("command: cp /in/a /in/b \\", set()),
    "thrown away": ("command: /x.sh > /dev/null 2>&1", set()),
    "by options": ("command: spark-submit j.py --input s3a://b/in --output=hdfs://nn/out", {("input", "s3://b", "in"), ("output", "hdfs://nn", "/out")}),
    "within a shell": ("command: ksh -c 'cp /in/a /out/b'", {("input", "file", "/in/a"), ("output", "file", "/out/b")}),
    "behind another": ("command: nohup time cp /in/a /out/b", {("input", "file", "/in/a"), ("output", "file", "/out/b")}),
    "by a variable that is known": ("envvars: D=/data\ncommand: cp $D/a ${D}/b", {("input", "file", "/data/a"), ("output", "file", "/data/b")}),
    "by one that is not": ("command: cp $D/a /out/b", {("output", "file", "/out/b")}),
    "brought": ("job_type: FTP\nftp_local_name: /in/a\nftp_remote_name: /r/a\nftp_server_name: h\nftp_transfer_direction: UPLOAD", {("input", "file", "/in/a"), ("output", "sftp://h", "/r/a")}),
    "fetched": ("job_type: SCP\nscp_local_name: /in/a\nscp_remote_dir: /r\nscp_remote_name: a\nscp_server_name: h\nscp_transfer_direction: DOWNLOAD", {("output", "file", "/in/a"), ("input", "sftp://h", "/r/a")}),
    "SQL": ("job_type: SQL\nconnect_string: jdbc:db2://h:50000/DB\nsql_command: INSERT INTO S.LEFT_OVER SELECT * FROM S.A JOIN B ON A.x = B.x", {("output", "db2://h:50000", "DB.S.LEFT_OVER"), ("input", "db2://h:50000", "DB.S.A"), ("input", "db2://h:50000", "DB.B")}),
    "SQL of Oracle": ("job_type: SQL\nconnect_string: jdbc\\:oracle\\:thin\\:@//h\\:1521/service\nsql_command: INSERT INTO S.A SELECT * FROM B", {("output", "oracle://h:1521", "service.S.A"), ("input", "oracle://h:1521", "service.B")}),
    "SQL of Oracle, by its old name": ('job_type: SQL\nconnect_string: "jdbc:oracle:thin:@h:1521:sid"\nsql_command: DELETE FROM S.A', {("output", "oracle://h:1521", "sid.S.A")}),
    "SQL of SQL Server": ("job_type: SQL\nconnect_string: jdbc:sqlserver://h:1433;databaseName=x\nsql_command: INSERT INTO dbo.a SELECT * FROM dbo.b", {("output", "mssql://h:1433", "x.dbo.a"), ("input", "mssql://h:1433", "x.dbo.b")}),
    "SQL that cannot be read": ("job_type: SQL\nsql_command: ((((", set()),
}  # fmt: skip


@pytest.mark.parametrize(("text", "found"), SPEAKS.values(), ids=SPEAKS)
def test_definitions_speak_of_datasets(text: str, found: set[tuple[str, str, str]]) -> None:
    candidates = find_datasets(job(text)).datasets
    sure = {(one.side, one.namespace, one.name) for one in candidates if one.confidence >= 0.5}
    assert sure == found
    assert all(one.evidence and 0 < one.confidence <= 1 for one in candidates)


def test_scripts_are_named_and_conventions_are_a_sites_own() -> None:
    found = find_datasets(
        job("command: sqlplus u/p @/s/a.sql; db2 -tvf /s/b.sql; bteq < /s/c.btq; /x --von /a"),
        OptionConventions(inputs=frozenset({"--von"})),
    )
    assert found.scripts == ["/s/a.sql", "/s/b.sql", "/s/c.btq"]
    assert [(one.side, one.name) for one in found.datasets] == [("input", "/a")]


LINT = {
    "nobody is called so": ("insert_job: A\ncondition: s(GONE)\n", ["condition waits for GONE, and no job is called so", "never starts"]),
    "one of two is": ("insert_job: A\ncondition: s(GONE) | s(B)\ninsert_job: B\n", ["condition waits for GONE"]),
    "left to right": ("insert_job: A\ncondition: s(B) | s(B) & s(GONE)\ninsert_job: B\n", ["condition waits for GONE", "never starts"]),
    "a box that is none": ("insert_job: A\nbox_name: B\ninsert_job: B\n", ["lies in B, which is not a box"]),
    "a box that there is not": ("insert_job: A\nbox_name: B\n", ["lies in the box B, which does not exist"]),
    "an empty box": ("insert_job: B\njob_type: b\n", ["is a box with nothing in it"]),
    "a box that may never end": ("insert_job: B\njob_type: b\nbox_success: s(X)\ninsert_job: A\nbox_name: B\ninsert_job: X\n", ["box_success waits for X, not in it"]),
    "in itself": ("insert_job: A\njob_type: b\nbox_name: A\n", ["is nested in itself"]),
    "in one that lies in it": ("insert_job: A\njob_type: b\nbox_name: B\ninsert_job: B\njob_type: b\nbox_name: A\n", ["is nested in itself", "is nested in itself"]),
    "waits for its own box": ("insert_job: B\njob_type: b\ninsert_job: C\njob_type: b\nbox_name: B\ninsert_job: A\nbox_name: C\ncondition: s(B)\n", ["condition waits for its own box B", "never starts"]),
    "or for another": ("insert_job: B\njob_type: b\ninsert_job: A\nbox_name: B\ncondition: s(B) | s(X)\ninsert_job: X\n", ["condition waits for its own box B"]),
    "dead times": ("insert_job: A\nstart_times: 10:00\n", ["start_times have no effect without date_conditions: 1"]),
    "no day": ("insert_job: A\ndate_conditions: 1\nstart_times: 10:00\n", ["date_conditions is on, and neither"]),
    "two ways": ("insert_job: A\ndate_conditions: y\ndays_of_week: mo\nrun_calendar: c\n", ["days_of_week and run_calendar are mutually exclusive"]),
    "a circle": ("insert_job: A\ncondition: s(B)\ninsert_job: B\ncondition: s(A)\n", ["waits in a cycle: A <- B <- A"]),
    "no circle": ("insert_job: A\ncondition: n(B)\ninsert_job: B\ncondition: s(A)\n", []),
    "another instance": ("insert_job: A\ncondition: s(B^PRD)\n", ["condition waits for B of PRD, which is not declared"]),
    "one that is declared": ("insert_xinst: PRD\nxtype: a\ninsert_job: A\ncondition: s(B^PRD)\n", []),
    "a global": ("insert_job: A\ncondition: v(G) = 1\n", ["condition uses the global G"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), LINT.values(), ids=LINT)
def test_what_can_never_work_is_told(text: str, said: list[str]) -> None:
    found = [one.message.partition(" ")[2] for one in lint(estate(text))]
    assert len(found) == len(said), found
    assert all(any(one.startswith(each) for one in found) for each in said), found


INSTANCES = [("insert_job: A\ncondition: s(X^PRD)\ninsert_job: X\n", []), ("insert_job: A\ncondition: s(X^PRD) & s(Y^DR)\n", ["A condition waits for X", "A condition waits for Y of DR", "A never starts"])]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), INSTANCES)
def test_a_job_of_the_instance_that_is_looked_at_is_one_of_the_estate(text: str, said: list[str]) -> None:
    found = [one.message for one in lint(estate(text), "PRD")]
    assert [one.startswith(each) for one, each in zip(found, said, strict=True)] == [True] * len(said)


MEANINGLESS = [
    ("max_run_alarm: abc", "error"), ("min_run_alarm: 1.5", "error"), ("term_run_time: x", "error"), ("n_retrys: -1", "error"),
    ('start_times: "10:00, 25:00"', "error"), ("start_mins: 5,60", "error"), ("days_of_week: mo,xx", "error"),
    ("must_start_times: banana", "error"), ("run_window: 10:00", "error"), ("success_codes: 0,x", "error"), ("timezone: Nowhere/City", "warning"),
]  # fmt: skip
MEANT = [
    "max_run_alarm: 30", 'start_times: "10:00, 4:00"', "start_mins: 0,59", "days_of_week: MO, tue,sunday", "days_of_week: all",
    'must_start_times: "04:40, 25:00"', 'must_complete_times: "+30"', 'run_window: "23:00 - 02:00"', "success_codes: 0, 5-9", "fail_codes: 1",
    "timezone: Europe/London", "timezone: Chicago", "timezone: EST5EDT", "start_times: $$WHEN", "max_run_alarm: ~{$MAX}~", "max_run_alarm:",
]  # fmt: skip


@pytest.mark.parametrize(("line", "level"), MEANINGLESS)
def test_a_value_that_means_nothing_is_told(line: str, level: str) -> None:
    (one,) = unsupported_definitions(estate(f"insert_job: A\n{line}\n"))
    assert (one.level, one.message.startswith(f"A {line.partition(':')[0]}: ")) == (level, True)


@pytest.mark.parametrize("line", MEANT)
def test_a_value_that_means_something_is_left_alone(line: str) -> None:
    assert unsupported_definitions(estate(f"insert_job: A\n{line}\n")) == []


def test_what_is_no_time_promises_nothing() -> None:
    text = "date_conditions: 1\nmust_start_times: banana\nmust_complete_times: 10:00,x\nmax_run_alarm: abc"
    assert job_sla(job(text)) == {"must_complete_times": ["10:00"]}


def test_a_condition_that_cannot_be_read_is_told_by_every_scan() -> None:
    (one,) = unsupported_definitions(estate("insert_job: A\ncondition: s(B\ninsert_job: B\n"))
    assert one.message == "A condition is no condition: unexpected end of condition"


def test_a_circle_of_thousands_is_found() -> None:
    text = "".join(f"insert_job: J{i}\ncondition: s(J{(i + 1) % 3000})\n" for i in range(3000))
    assert [one.message.partition(" <- ")[0] for one in lint(estate(text))] == ["J0 waits in a cycle: J0"]


def test_times_and_promises() -> None:
    found = job(
        'date_conditions: 1\ndays_of_week: mo,tu\nstart_times: "04:00, 16:00"\ntimezone: Europe/London\nmust_complete_times: "+30"\nmax_run_alarm: 45\nfail_codes: 9'
    )
    assert job_schedule(found) == {
        "active": True, "days_of_week": ["mo", "tu"], "start_times": ["04:00", "16:00"], "timezone": "Europe/London",
        "must_complete_times": ["+30"],
    }  # fmt: skip
    assert job_sla(found) == {"must_complete_times": ["+30"], "timezone": "Europe/London", "max_duration": "45m"}
    assert success_rule(found) == {"fail_codes": "9"}
    assert job_sla(job("must_complete_times: 10:00")) is None, "without date_conditions nothing is promised"


def test_a_job_is_told_with_all_of_it_and_without_its_secrets() -> None:
    found = estate(
        "insert_job: B\njob_type: b\n",
        "insert_job: J\nbox_name: B\nowner: ann@h\ncondition: s(X)\ncommand: /x --password pw > /out/a\n",
    )
    _, told = (json.loads(one) for one in build_job_events(found, ScanOptions("PRD", "2026-01-01T00:00:00Z")))
    facets = told["job"]["facets"]
    assert (told["job"]["namespace"], told["job"]["name"]) == ("autosys://PRD", "J")
    assert facets["lineageBridge_autosys"]["processKey"] == "AUTOSYS/B/J"
    assert facets["lineageBridge_boxes"]["boxes"] == ["B"]
    assert facets["lineage"]["entries"] == [
        {"type": "DATASET", "namespace": "file", "name": "/out/a", "inputs": [{"type": "JOB"}]}
    ]
    assert "pw " not in json.dumps(told)
    assert facets["lineageBridge_jobDependencies"]["upstream"][0]["status_trigger_rule"] == "SUCCESS"


def test_one_that_is_gone_waits_for_nothing_and_speaks_of_nothing() -> None:
    facets = json.loads(build_retirement_event("J", ScanOptions("PRD", "2026-01-01T00:00:00Z")))["job"]["facets"]
    assert (facets["lineage"]["entries"], facets["lineageBridge_jobDependencies"]["upstream"]) == ([], [])


def test_what_differs_between_estates_is_told_by_job_and_attribute() -> None:
    before = estate("insert_job: A\nmachine: m\ninsert_job: B\n")
    after = estate("insert_job: A\nmachine: n\nowner: o\ninsert_job: C\n")
    assert [tuple(one) for one in diff_catalogs(before, after)] == [
        ("A", "changed", "machine", "m", "n"), ("A", "changed", "owner", None, "o"), ("B", "removed", None, None, None),
        ("C", "added", None, None, None),
    ]  # fmt: skip


SAME = [
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
OTHER = [
    ("auto_delete: 1", "auto_delete: y"), ("command: x  y", "command: x y"), ("send_notification: y", "send_notification: f"),
    ("condition: s(A) | s(B) & d(C)", "condition: s(A) | (s(B) & d(C))"), ("condition: s(A, 0)", "condition: s(A)"),
    ("condition: s(A", "condition: s( A"), ("start_times: 10:00,11:00", "start_times: 11:00,10:00"),
    ('condition: v(G) = "x y"', "condition: v(G) = x"), ("job_type: f", "job_type: FT"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_means_the_same_is_no_difference_however_it_is_spelled(one: str, other: str) -> None:
    before, after = estate(f"insert_job: J\n{one}\n"), estate(f"insert_job: J\n{other}\n")
    assert diff_catalogs(before, after) == []


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_what_means_something_else_is_a_difference(one: str, other: str) -> None:
    before, after = estate(f"insert_job: J\n{one}\n"), estate(f"insert_job: J\n{other}\n")
    assert len(diff_catalogs(before, after)) == 1

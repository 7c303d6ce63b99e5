"""JIL line by line: every line is understood or told with its place, whatever stands in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.autosys.files import decode_text
from mappers.legacy.jil.parser import ParsedJil, parse_jil


def read(text: str) -> ParsedJil:
    return parse_jil(text, "a.jil")


def attributes(text: str) -> dict[str, str]:
    (one,) = read(text).statements
    return {each.name: each.value for each in one.attributes}


HEADERS = {
    "one attribute a line": ("insert_job: A\njob_type: CMD\n", ("insert_job", "A", {"job_type": "CMD"})),
    "on one line, as autorep prints it": ("insert_job: A   job_type: CMD\n", ("insert_job", "A", {"job_type": "CMD"})),
    "no blank behind the colon": ("insert_job:A\njob_type:c\n", ("insert_job", "A", {"job_type": "c"})),
    "capitals": ("INSERT_JOB: A\nJob_Type: c\nCOMMAND: x\n", ("insert_job", "A", {"job_type": "c", "command": "x"})),
    "blanks before": ("  insert_job: A\n   job_type: c\n", ("insert_job", "A", {"job_type": "c"})),
    "a colon in a name": ("insert_job: A\\:B   job_type: c\n", ("insert_job", "A:B", {"job_type": "c"})),
    "quotes around a name": ('insert_job: "A B"\n', ("insert_job", "A B", {})),
    "a machine": ("insert_machine: m1\ntype: a\nnode_name: h\n", ("insert_machine", "m1", {"type": "a", "node_name": "h"})),
    "a global": ("insert_global: G\nvalue: 3\n", ("insert_global", "G", {"value": "3"})),
}  # fmt: skip


@pytest.mark.parametrize(("text", "found"), HEADERS.values(), ids=HEADERS)
def test_a_statement_is_read_however_it_is_laid_out(text: str, found: tuple[str, str, dict[str, str]]) -> None:
    result = read(text)
    (one,) = result.statements
    assert (one.subcommand, one.subject, {each.name: each.value for each in one.attributes}) == found
    assert result.problems == []


VALUES = {
    "words that look like attributes": ("command: x.sh --status: ok --type: full", {"command": "x.sh --status: ok --type: full"}),
    "in a description": ("description: see machine: m2", {"description": "see machine: m2"}),
    "quotes": ('description: "a: b"', {"description": "a: b"}),
    "quotes inside": ('command: echo "a b" "c"', {"command": 'echo "a b" "c"'}),
    "escaped quotes": ('description: "say \\"x\\""', {"description": 'say "x"'}),
    "an escaped colon": ("watch_file: C\\:/x", {"watch_file": "C:/x"}),
    "a path with a star": ("command: cp /tmp/*/x /c/*/d", {"command": "cp /tmp/*/x /c/*/d"}),
    "a comment behind": ("owner: a@h /* who */", {"owner": "a@h"}),
    "a hash behind": ("command: echo # x", {"command": "echo # x"}),
    "a list that goes on": ('start_times: "10:00,\n   11:00"', {"start_times": "10:00, 11:00"}),
    "a list behind a comma": ("machine: m1,\n m2", {"machine": "m1, m2"}),
    "a condition that goes on": ("condition: s(A) &\n  s(B)\n  ", {"condition": "s(A) & s(B)"}),
    "a condition in parentheses": ("condition: (s(A)\n| s(B))", {"condition": "(s(A) | s(B))"}),
    "a condition whose next line joins": ("condition: s(A)\n  & v(G) = 1 and\n  s(B)", {"condition": "s(A) & v(G) = 1 and s(B)"}),
    "a condition that begins later": ("condition:\n  s(A)\n  | s(B)", {"condition": "s(A) | s(B)"}),
    "nothing": ("description:", {"description": ""}),
}  # fmt: skip


@pytest.mark.parametrize(("line", "found"), VALUES.values(), ids=VALUES)
def test_a_value_is_what_is_meant(line: str, found: dict[str, str]) -> None:
    result = read(f"insert_job: A\n{line}\nn_retrys: 1\n")
    assert {each.name: each.value for each in result.statements[0].attributes} == {**found, "n_retrys": "1"}
    assert result.problems == []


def test_an_attribute_behind_another_is_taken_and_told() -> None:
    result = read("insert_job: A\nmachine: m1  n_retrys: 2\n")
    assert [(each.name, each.value) for each in result.statements[0].attributes] == [
        ("machine", "m1"),
        ("n_retrys", "2"),
    ]
    assert [str(one) for one in result.problems] == [
        "a.jil:2: warning: n_retrys behind machine on the same line: read as a separate attribute"
    ]


ALLOWED = {
    "a machine": "insert_machine: m\ntype: a\nagent_name: WA\nnode_name: h\nport: 7520\nmax_load: 5\nfactor: 1.0\nopsys: aix\ncharacter_code: ASCII\nencryption_type: NONE\n",
    "a virtual machine": "insert_machine: v\ntype: v\nmachine: m1\nmax_load: 5\nfactor: 1\nmachine: m2\n",
    "another instance": "insert_xinst: P\nxtype: e\nxmachine: h\nxport: 7500\nxmanager: M\nxcrypt_type: AES\nxkey_to_manager: 0x1\n",
    "a resource": "update_resource: R\nres_type: R\namount: 3\nmachine: m\ndescription: d\n",
    "a type of jobs": "insert_job_type: 9\ncommand: x\ndescription: d\n",
    "a blob": "insert_blob: A\nblob_type: input\nblob_file: /x\n",
    "a monitor, whose attributes are not known": "insert_monbro: M\nanything: y\n",
    "a connection profile, as well": "insert_connectionprofile: C\nanything: y\n",
    "a backslash that ends a folder": "insert_job: A\ncommand: dir C:\\tmp\\\nmachine: m\n",
}  # fmt: skip


@pytest.mark.parametrize("text", ALLOWED.values(), ids=ALLOWED)
def test_what_is_right_or_not_known_is_not_called_wrong(text: str) -> None:
    assert read(text).problems == []


def test_no_line_behind_a_backslash_becomes_a_part_of_a_command_or_an_attribute() -> None:
    found = attributes("insert_job: A\ncommand: x \\\n  http://h/x \\\n  y: z\nmachine: m\n")
    assert found == {"command": "x \\", "machine": "m"}


TOLD = {
    "a line that is none": ("insert_job: A\nsendevent -E STARTJOB -J x\n", (2, "warning", "is no attribute and goes on with none")),
    "an attribute that is unknown": ("insert_job: A\nfoo: 1\n", (2, "warning", "foo is no attribute of a job that is known: kept as it is")),
    "one on the line of its sub-command": ("insert_machine: m  command: x\n", (1, "warning", "command is no attribute of a machine that is known")),
    "one of a machine": ("insert_machine: m\nmax_laod: 5\n", (2, "warning", "max_laod is no attribute of a machine that is known")),
    "one of a global": ("insert_global: G\nvalue: 3\ntype: a\n", (3, "warning", "type is no attribute of a global that is known")),
    "one of another instance": ("insert_xinst: PRD\nxtype: a\nxhost: h\n", (3, "warning", "xhost is no attribute of a xinst that is known")),
    "one of a resource": ("insert_resource: R\nres_type: R\namuont: 1\n", (3, "warning", "amuont is no attribute of a resource that is known")),
    "one of a type of jobs": ("insert_job_type: 9\ncommand: x\nmachine: m\n", (3, "warning", "machine is no attribute of a job type that is known")),
    "one of a blob": ("insert_blob: A\nblob_size: 1\n", (2, "warning", "blob_size is no attribute of a blob that is known")),
    "a line behind a backslash": ("insert_job: A\ncommand: cp /a \\\n  /b\nmachine: m\n", (3, "warning", "stands behind a backslash, which in JIL lets no line go on: not taken: /b")),
    "an address behind a backslash": ("insert_job: A\ncommand: curl \\\n  http://h/x\nmachine: m\n", (3, "warning", "stands behind a backslash")),
    "an attribute of nothing": ("machine: m\n", (1, "error", "machine stands before any sub-command")),
    "a sub-command that is unknown": ("insert_frob: A\ncommand: x\n", (1, "error", "insert_frob is no sub-command that is known")),
    "a name that is missing": ("insert_job:\n", (1, "error", "insert_job has no name")),
    "quotes that stay open": ('insert_job: A\ndescription: "x\nmachine: m\n', (2, "warning", "the quotes of description are not closed")),
    "a comment that stays open": ("insert_job: A\n/* x\nmachine: m\n", (2, "error", "a comment begins here and never ends")),
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), TOLD.values(), ids=TOLD)
def test_what_is_wrong_is_told_with_its_line(text: str, said: tuple[int, str, str]) -> None:
    (one,) = read(text).problems
    assert (one.line, one.level, one.message.startswith(said[2])) == (said[0], said[1], True)


def test_what_belongs_to_an_unknown_statement_is_not_given_to_the_one_before() -> None:
    result = read("insert_job: A\nmachine: m\nupdate_frob: B\nmachine: other\ninsert_job: C\n")
    assert [(one.subject, len(one.attributes)) for one in result.statements] == [("A", 1), ("C", 0)]
    assert result.line_kinds[2:4] == ["reported", "reported"]


@pytest.mark.parametrize("verb", ["frobnicate_job", "replace_box", "load_connectionprofile", "frob_job_type"])
def test_a_verb_that_nobody_knows_changes_nothing_of_the_job_before(verb: str) -> None:
    result = read(f"insert_job: A\ncommand: x\n{verb}: B\ncommand: rm -rf /\ninsert_job: C\n")
    assert [(one.subject, [each.value for each in one.attributes]) for one in result.statements] == [
        ("A", ["x"]),
        ("C", []),
    ]
    assert [(one.line, one.level) for one in result.problems] == [(3, "error")]


def test_a_message_of_an_export_that_failed_is_an_error() -> None:
    assert [one.level for one in read("CAUAJM_E_18400 no connection\nx\n").problems] == ["error", "warning"]


def test_after_a_mistake_reading_goes_on() -> None:
    result = read('insert_job: A\ndescription: "x\nmachine: m\n\ninsert_job: B\nmachine: n\n')
    assert [one.subject for one in result.statements] == ["A", "B"]
    assert {each.name: each.value for each in result.statements[0].attributes}["machine"] == "m"


def test_comments_may_take_several_lines_and_leave_the_rest_of_the_last() -> None:
    result = read("/* a\n b */ insert_job: A\n# x\n   # y\nmachine: m\n")
    assert result.statements[0].subject == "A"
    assert result.line_kinds == ["comment", "statement", "comment", "comment", "attribute", "blank"]


JIL = st.lists(
    st.one_of(
        st.sampled_from(["insert_job: A", "update_job: A", "delete_box: B", "machine: m", 'start_times: "1', "condition: s(A) &", "/*", "*/", "#x", "", "  ", '"', "insert_x: y", "x: y", "command: a\\"]),
        st.text(alphabet='ab:"\\/*# \t_,&|()', max_size=20),
    ),
    max_size=25,
)  # fmt: skip


@given(JIL, st.sampled_from(["\n", "\r\n", "\r"]))
def test_no_line_of_any_text_is_passed_over_in_silence(lines: list[str], end: str) -> None:
    result = read(end.join(lines))
    assert len(result.line_kinds) == max(1, len(lines))
    covered = {one.line for one in result.problems}
    unknown = 0
    for number, fate in enumerate(result.line_kinds, 1):
        line = lines[number - 1].strip(" \t") if lines else ""
        if fate == "blank":
            assert line == ""
        if fate == "reported":
            unknown = number if number in covered else unknown or number
            assert number in covered or any(one < number for one in covered)
    taken = sum(1 + len(one.attributes) for one in result.statements)
    assert taken <= 4 * max(1, len(lines))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_text(raw: bytes) -> None:
    assert isinstance(parse_jil(decode_text(raw).text, "x"), ParsedJil)


ENCODED = {
    "UTF-8": ("insert_job: Ä".encode(), "utf-8", False), "with a mark": ("insert_job: Ä".encode("utf-8-sig"), "utf-8-sig", False),
    "UTF-16 with a mark": ("insert_job: Ä".encode("utf-16"), "utf-16", False),
    "UTF-16 without": ("insert_job: Ä".encode("utf-16-le"), "utf-16-le", False), "the other way round": ("insert_job: Ä".encode("utf-16-be"), "utf-16-be", False),
    "of Windows": ("insert_job: Ä".encode("cp1252"), "cp1252", False), "of nothing": (b"insert_job: \x81", "cp1252", True),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "encoding", "lossy"), ENCODED.values(), ids=ENCODED)
def test_whatever_an_editor_left_is_decoded(raw: bytes, encoding: str, lossy: bool) -> None:
    found = decode_text(raw)
    assert (found.encoding, found.lossy, found.text.lstrip("\ufeff").startswith("insert_job: ")) == (
        encoding,
        lossy,
        True,
    )
    assert lossy or found.text.endswith("Ä")

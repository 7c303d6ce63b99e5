"""JIL is parsed line by line: every line is understood, or reported with its position."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.autosys.files import decode_text
from mappers.legacy.jil.parser import ParsedJil, parse_jil


def parse(text: str) -> ParsedJil:
    return parse_jil(text, "a.jil")


def attributes(text: str) -> dict[str, str]:
    (statement,) = parse(text).statements
    return {attribute.name: attribute.value for attribute in statement.attributes}


STATEMENTS = {
    "one attribute per line": ("insert_job: A\njob_type: CMD\n", ("insert_job", "A", {"job_type": "CMD"})),
    "on one line, as autorep prints it": ("insert_job: A   job_type: CMD\n", ("insert_job", "A", {"job_type": "CMD"})),
    "no blank after the colon": ("insert_job:A\njob_type:c\n", ("insert_job", "A", {"job_type": "c"})),
    "capitals": ("INSERT_JOB: A\nJob_Type: c\nCOMMAND: x\n", ("insert_job", "A", {"job_type": "c", "command": "x"})),
    "blanks before": ("  insert_job: A\n   job_type: c\n", ("insert_job", "A", {"job_type": "c"})),
    "a colon in a name": ("insert_job: A\\:B   job_type: c\n", ("insert_job", "A:B", {"job_type": "c"})),
    "quotes around a name": ('insert_job: "A B"\n', ("insert_job", "A B", {})),
    "a machine": ("insert_machine: m1\ntype: a\nnode_name: h\n", ("insert_machine", "m1", {"type": "a", "node_name": "h"})),
    "a global": ("insert_global: G\nvalue: 3\n", ("insert_global", "G", {"value": "3"})),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), STATEMENTS.values(), ids=STATEMENTS)
def test_statements_in_any_layout(text: str, expected: tuple[str, str, dict[str, str]]) -> None:
    result = parse(text)
    (statement,) = result.statements
    assert (
        statement.subcommand,
        statement.subject,
        {attribute.name: attribute.value for attribute in statement.attributes},
    ) == expected
    assert result.problems == []


VALUES = {
    "words that look like attributes": ("command: x.sh --status: ok --type: full", {"command": "x.sh --status: ok --type: full"}),
    "in a description": ("description: see machine: m2", {"description": "see machine: m2"}),
    "quotes": ('description: "a: b"', {"description": "a: b"}),
    "quotes inside": ('command: echo "a b" "c"', {"command": 'echo "a b" "c"'}),
    "escaped quotes": ('description: "say \\"x\\""', {"description": 'say "x"'}),
    "an escaped colon": ("watch_file: C\\:/x", {"watch_file": "C:/x"}),
    "a path with a star": ("command: cp /tmp/*/x /c/*/d", {"command": "cp /tmp/*/x /c/*/d"}),
    "a comment after a value": ("owner: a@h /* who */", {"owner": "a@h"}),
    "a hash after a value": ("command: echo # x", {"command": "echo # x"}),
    "a continued list": ('start_times: "10:00,\n   11:00"', {"start_times": "10:00, 11:00"}),
    "a list continued after a comma": ("machine: m1,\n m2", {"machine": "m1, m2"}),
    "a continued condition": ("condition: s(A) &\n  s(B)\n  ", {"condition": "s(A) & s(B)"}),
    "a condition in parentheses": ("condition: (s(A)\n| s(B))", {"condition": "(s(A) | s(B))"}),
    "a condition whose next line joins": ("condition: s(A)\n  & v(G) = 1 and\n  s(B)", {"condition": "s(A) & v(G) = 1 and s(B)"}),
    "a condition on the next lines": ("condition:\n  s(A)\n  | s(B)", {"condition": "s(A) | s(B)"}),
    "an empty value": ("description:", {"description": ""}),
}  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), VALUES.values(), ids=VALUES)
def test_values_of_attributes(line: str, expected: dict[str, str]) -> None:
    result = parse(f"insert_job: A\n{line}\nn_retrys: 1\n")
    assert {attribute.name: attribute.value for attribute in result.statements[0].attributes} == {
        **expected,
        "n_retrys": "1",
    }
    assert result.problems == []


def test_second_attribute_on_a_line_is_read_with_a_warning() -> None:
    result = parse("insert_job: A\nmachine: m1  n_retrys: 2\n")
    assert [(attribute.name, attribute.value) for attribute in result.statements[0].attributes] == [
        ("machine", "m1"),
        ("n_retrys", "2"),
    ]
    assert [str(problem) for problem in result.problems] == [
        "a.jil:2: warning: n_retrys after machine on the same line: read as a separate attribute"
    ]


ALLOWED = {
    "a machine": "insert_machine: m\ntype: a\nagent_name: WA\nnode_name: h\nport: 7520\nmax_load: 5\nfactor: 1.0\nopsys: aix\ncharacter_code: ASCII\nencryption_type: NONE\n",
    "a virtual machine": "insert_machine: v\ntype: v\nmachine: m1\nmax_load: 5\nfactor: 1\nmachine: m2\n",
    "another instance": "insert_xinst: P\nxtype: e\nxmachine: h\nxport: 7500\nxmanager: M\nxcrypt_type: AES\nxkey_to_manager: 0x1\n",
    "a resource": "update_resource: R\nres_type: R\namount: 3\nmachine: m\ndescription: d\n",
    "a type of jobs": "insert_job_type: 9\ncommand: x\ndescription: d\n",
    "a blob": "insert_blob: A\nblob_type: input\nblob_file: /x\n",
    "a monitor, whose attributes are unknown": "insert_monbro: M\nanything: y\n",
    "a connection profile, whose attributes are unknown": "insert_connectionprofile: C\nanything: y\n",
    "a backslash that ends a folder": "insert_job: A\ncommand: dir C:\\tmp\\\nmachine: m\n",
}  # fmt: skip


@pytest.mark.parametrize("text", ALLOWED.values(), ids=ALLOWED)
def test_valid_and_unknown_attributes_are_not_reported(text: str) -> None:
    assert parse(text).problems == []


def test_line_after_a_backslash_is_not_part_of_a_value() -> None:
    values = attributes("insert_job: A\ncommand: x \\\n  http://h/x \\\n  y: z\nmachine: m\n")
    assert values == {"command": "x \\", "machine": "m"}


PROBLEMS = {
    "neither attribute nor continuation": ("insert_job: A\nsendevent -E STARTJOB -J x\n", (2, "warning", "is neither an attribute nor a continuation")),
    "an unknown attribute": ("insert_job: A\nfoo: 1\n", (2, "warning", "foo is not a known attribute of a job: kept as it is")),
    "an unknown attribute on the line of its subcommand": ("insert_machine: m  command: x\n", (1, "warning", "command is not a known attribute of a machine")),
    "an unknown attribute of a machine": ("insert_machine: m\nmax_laod: 5\n", (2, "warning", "max_laod is not a known attribute of a machine")),
    "an unknown attribute of a global": ("insert_global: G\nvalue: 3\ntype: a\n", (3, "warning", "type is not a known attribute of a global")),
    "an unknown attribute of another instance": ("insert_xinst: PRD\nxtype: a\nxhost: h\n", (3, "warning", "xhost is not a known attribute of a xinst")),
    "an unknown attribute of a resource": ("insert_resource: R\nres_type: R\namuont: 1\n", (3, "warning", "amuont is not a known attribute of a resource")),
    "an unknown attribute of a type of jobs": ("insert_job_type: 9\ncommand: x\nmachine: m\n", (3, "warning", "machine is not a known attribute of a job type")),
    "an unknown attribute of a blob": ("insert_blob: A\nblob_size: 1\n", (2, "warning", "blob_size is not a known attribute of a blob")),
    "a line after a backslash": ("insert_job: A\ncommand: cp /a \\\n  /b\nmachine: m\n", (3, "warning", "follows a backslash, which does not continue a line in JIL: ignored: /b")),
    "a URL after a backslash": ("insert_job: A\ncommand: curl \\\n  http://h/x\nmachine: m\n", (3, "warning", "follows a backslash")),
    "an attribute without a statement": ("machine: m\n", (1, "error", "machine precedes all subcommands")),
    "an unknown subcommand": ("insert_frob: A\ncommand: x\n", (1, "error", "insert_frob is not a known subcommand")),
    "a missing name": ("insert_job:\n", (1, "error", "insert_job has no name")),
    "unbalanced quotes": ('insert_job: A\ndescription: "x\nmachine: m\n', (2, "warning", "unbalanced quotes in description")),
    "an unterminated comment": ("insert_job: A\n/* x\nmachine: m\n", (2, "error", "unterminated comment")),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), PROBLEMS.values(), ids=PROBLEMS)
def test_problems_are_reported_with_their_line(text: str, expected: tuple[int, str, str]) -> None:
    (problem,) = parse(text).problems
    assert (problem.line, problem.level, problem.message.startswith(expected[2])) == (expected[0], expected[1], True)


def test_attributes_of_unknown_statements_are_ignored() -> None:
    result = parse("insert_job: A\nmachine: m\nupdate_frob: B\nmachine: other\ninsert_job: C\n")
    assert [(statement.subject, len(statement.attributes)) for statement in result.statements] == [("A", 1), ("C", 0)]
    assert result.line_kinds[2:4] == ["reported", "reported"]


@pytest.mark.parametrize("subcommand", ["frobnicate_job", "replace_box", "load_connectionprofile", "frob_job_type"])
def test_unknown_subcommand_does_not_change_the_previous_job(subcommand: str) -> None:
    result = parse(f"insert_job: A\ncommand: x\n{subcommand}: B\ncommand: rm -rf /\ninsert_job: C\n")
    assert [
        (statement.subject, [attribute.value for attribute in statement.attributes])
        for statement in result.statements
    ] == [
        ("A", ["x"]),
        ("C", []),
    ]
    assert [(problem.line, problem.level) for problem in result.problems] == [(3, "error")]


def test_message_of_a_failed_export_is_an_error() -> None:
    assert [problem.level for problem in parse("CAUAJM_E_18400 no connection\nx\n").problems] == ["error", "warning"]


def test_parsing_continues_after_an_error() -> None:
    result = parse('insert_job: A\ndescription: "x\nmachine: m\n\ninsert_job: B\nmachine: n\n')
    assert [statement.subject for statement in result.statements] == ["A", "B"]
    assert {attribute.name: attribute.value for attribute in result.statements[0].attributes}["machine"] == "m"


def test_comments_can_span_lines() -> None:
    result = parse("/* a\n b */ insert_job: A\n# x\n   # y\nmachine: m\n")
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
def test_no_line_is_dropped_silently(lines: list[str], end: str) -> None:
    result = parse(end.join(lines))
    assert len(result.line_kinds) == max(1, len(lines))
    reported = {problem.line for problem in result.problems}
    unknown = 0
    for number, line_kind in enumerate(result.line_kinds, 1):
        line = lines[number - 1].strip(" \t") if lines else ""
        if line_kind == "blank":
            assert line == ""
        if line_kind == "reported":
            unknown = number if number in reported else unknown or number
            assert number in reported or any(reported_line < number for reported_line in reported)
    total = sum(1 + len(statement.attributes) for statement in result.statements)
    assert total <= 4 * max(1, len(lines))


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded(raw: bytes) -> None:
    assert isinstance(parse_jil(decode_text(raw).text, "x"), ParsedJil)


ENCODED = {
    "UTF-8": ("insert_job: Ä".encode(), "utf-8", False), "UTF-8 with a BOM": ("insert_job: Ä".encode("utf-8-sig"), "utf-8-sig", False),
    "UTF-16 with a BOM": ("insert_job: Ä".encode("utf-16"), "utf-16", False),
    "UTF-16 without a BOM": ("insert_job: Ä".encode("utf-16-le"), "utf-16-le", False), "UTF-16, big-endian": ("insert_job: Ä".encode("utf-16-be"), "utf-16-be", False),
    "Windows-1252": ("insert_job: Ä".encode("cp1252"), "cp1252", False), "undecodable": (b"insert_job: \x81", "cp1252", True),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "encoding", "lossy"), ENCODED.values(), ids=ENCODED)
def test_encodings_are_detected(raw: bytes, encoding: str, lossy: bool) -> None:
    decoded = decode_text(raw)
    assert (decoded.encoding, decoded.lossy, decoded.text.lstrip("\ufeff").startswith("insert_job: ")) == (
        encoding,
        lossy,
        True,
    )
    assert lossy or decoded.text.endswith("Ä")

"""spark-defaults.conf, read and written like Spark does."""

from pathlib import Path

import pytest

from connectors.errors import ConfigError
from connectors.spark.conf_format import format_defaults, parse_defaults, read_defaults


@pytest.mark.parametrize(
    ("text", "conf"),
    [
        ("spark.a b", {"spark.a": "b"}),
        ("spark.a=b", {"spark.a": "b"}),
        ("spark.a: b", {"spark.a": "b"}),
        ("  spark.a  =  b  ", {"spark.a": "b"}),
        ("spark.a\tb c # no comment", {"spark.a": "b c # no comment"}),
        ("spark.a = = b", {"spark.a": "= b"}),
        ("spark.a", {"spark.a": ""}),
        ("# spark.a b\n ! spark.c d\n\n", {}),
        ("spark.a b\r\nspark.c d\rspark.e f", {"spark.a": "b", "spark.c": "d", "spark.e": "f"}),
        ("spark.a b\nspark.a c", {"spark.a": "c"}),
        ("spark.a b,\\\n   c", {"spark.a": "b,c"}),
        ("spark.a b\\\\\nspark.c d", {"spark.a": "b\\", "spark.c": "d"}),
        ("spark.a b\\\n# c", {"spark.a": "b# c"}),
        ("spark.a C:\\temp\\new", {"spark.a": "C:\temp\new"}),
        ("spark.a C:\\\\temp", {"spark.a": "C:\\temp"}),
        ("spark.a \\u0041\\z", {"spark.a": "Az"}),
        ("spark.a\\ b\\=c d", {"spark.a b=c": "d"}),
        ("spark.a ü", {"spark.a": "ü"}),
        ("spark.a b\\", {"spark.a": "b"}),
    ],
)
def test_parse_defaults(text: str, conf: dict[str, str]) -> None:
    assert parse_defaults(text) == conf


VALUES = [
    "", "b", "C:\\temp\\new", "\\", "# no comment", "!", "=", ": b", "a b", "a\nb", "a\r\nb", "\n", "tab\tin", "ü€😀",
    "-Da=b -Dc='d e'", "\\u0041", "http://127.0.0.1:8090", "[a;b]",
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_values_round_trip(value: str) -> None:
    conf = {"spark.a": value, "spark.b": "after"}
    assert parse_defaults(format_defaults(conf)) == conf


@pytest.mark.parametrize("key", ["spark.a b", "spark.a=b", "spark.a:b", "#spark", "spark.\\a", "spark.ü"])
def test_keys_round_trip(key: str) -> None:
    assert parse_defaults(format_defaults({key: "v"})) == {key: "v"}


@pytest.mark.parametrize("value", [" a", "a ", "\ta", "\0a"])
def test_value_with_outer_blanks_is_rejected(value: str) -> None:
    with pytest.raises(ConfigError, match=r"spark\.a: Spark strips the surrounding whitespace"):
        format_defaults({"spark.a": value})


def test_read_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "spark.conf"
    path.write_text("spark.a ü\n", encoding="utf-8")
    assert read_defaults(path) == {"spark.a": "ü"}
    path.write_bytes(b"spark.a \xff")
    with pytest.raises(ConfigError, match=r"spark\.conf is not UTF-8: invalid start byte at byte 8"):
        read_defaults(path)
    path.write_text("spark.a \\u00zz")
    with pytest.raises(ConfigError, match=r"spark\.conf: \\u without four hex digits"):
        read_defaults(path)
    with pytest.raises(ConfigError, match=r"cannot read the conf .*no\.conf: No such file"):
        read_defaults(tmp_path / "no.conf")

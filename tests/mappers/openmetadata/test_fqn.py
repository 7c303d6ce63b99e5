"""Entity names, fully qualified names and escaped descriptions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mappers.openmetadata.descriptions import escape_description
from mappers.openmetadata.fqn import entity_name, fqn, split_fqn


@pytest.mark.parametrize("name", ["orders", "a.b", " ", " a", "a/b %#?&\\'{[<", "Ünïcode", "k" * 256])
def test_valid_names_are_unchanged(name: str) -> None:
    assert entity_name(name) == (name, None)


@pytest.mark.parametrize("name", ["a::b", "a>b", 'a"b', "a\nb", "a\tb", "\x00", "k" * 257, ""])
def test_invalid_names_are_replaced_by_stable_ones(name: str) -> None:
    replaced = entity_name(name)
    assert replaced == entity_name(name)
    assert entity_name(replaced.name) == (replaced.name, None)
    assert replaced.display_name == (name or None)


def test_different_names_stay_different() -> None:
    assert len({entity_name(name).name for name in ("a::b", "a>>b", "a_b", "k" * 257, "k" * 258)}) == 5


@given(
    st.lists(st.text(st.characters(blacklist_characters='"', blacklist_categories=["Cs"]), min_size=1), min_size=1)
)
def test_split_fqn_reverses_fqn(parts: list[str]) -> None:
    assert split_fqn(fqn(*parts)) == parts


@pytest.mark.parametrize(
    ("description", "stored"),
    [
        ("plain text, with. punctuation!", "plain text, with. punctuation!"),
        ("it's a=b & ", "it&#39;s a&#61;b &amp;"),
        ("array<string>", "array&lt;string&gt;"),
        ("# T\n- a **b** `c`", "# T\n- a **b** &#96;c&#96;"),
        (" a\x00b ", "ab"),
        ("{{x}} a@b.c +", "{<!-- -->{x}} a&#64;b.c &#43;"),
        ("\U0001f600 é", "&#x1f600; é"),
    ],
)
def test_escape_description(description: str, stored: str) -> None:
    assert escape_description(description) == stored

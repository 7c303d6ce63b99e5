"""Tokens of texts and of queries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.store.search.tokens import MAX_BYTES, MAX_LENGTH, MAX_TOKENS, MAX_WORDS, normalize, parse_query, tokenize
from tests.fuzz.hostile_names import HOSTILE

TEXTS = st.one_of(st.text(), st.sampled_from(sorted(HOSTILE.values())), st.text("aB1 _漢é\u0301\u200dßİ"))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("daily", "daily"),
        ("dailySales2024", "dailysales2024 daily sales 2024"),
        ("HTTPServer", "httpserver http server"),
        ("s3://lake/daily_orders", "s3 s 3 lake daily orders"),
        ("analytics.public.Orders", "analytics public orders"),
        ("Straße STRASSE", "strasse"),
        ("Ｄａｉｌｙ ﬁle ²", "daily file 2"),
        ("cafe\u0301 café Z̷͇a̸lgo", "café zalgo"),
        ("売上高Sales", "売 上 高 売上 上高 sales"),
        ("हिन्दी", "हनद"),
        ("שלום مرحبا", "שלום مرحبا"),
        ("'; -- \" * ( ) : ^ & | ! \0 👩‍👩", ""),
        ("x" * 1000, "x" * MAX_LENGTH),
    ],
)
def test_text_is_split_into_words_and_their_parts(text: str, tokens: str) -> None:
    assert list(tokenize([text])) == tokens.split()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("daily sales", "daily & sales*"),
        ("dailySales x", "(dailysales | daily+sales) & x*"),
        ("q1", "(q1* | q+1*)"),
        ("売上高", "売上+上高*"),
        ("売", "売*"),
        ("  ", ""),
        ('" OR * NOT (', "or & not*"),
    ],
)
def test_all_words_of_a_query_must_match_the_last_as_prefix(query: str, expected: str) -> None:
    def render(tokens: tuple[tuple[str, bool], ...]) -> str:
        return "+".join(text + "*" * prefix for text, prefix in tokens)

    words = [" | ".join(map(render, word)) for word in parse_query(query)]
    assert " & ".join(f"({word})" if "|" in word else word for word in words) == expected


@given(TEXTS)
def test_tokens_are_short_and_alphanumeric(text: str) -> None:
    for token in tokenize([text]):
        assert token.isalnum()
        assert len(token) <= MAX_LENGTH
        assert normalize(token) == token


@given(TEXTS)
def test_every_word_of_a_text_finds_it(text: str) -> None:
    indexed = set(tokenize([text]))
    for word in parse_query(text):
        assert any(
            all(
                token.text in indexed
                or (token.prefix and any(indexed_token.startswith(token.text) for indexed_token in indexed))
                for token in alternative
            )
            for alternative in word
        )


@given(TEXTS)
def test_case_does_not_matter_within_a_word(text: str) -> None:
    assert normalize(text.upper().lower()) == normalize(text.lower().upper().lower())
    assert normalize(normalize(text)) == normalize(text)


@pytest.mark.parametrize("text", [" ".join(f"col_{i}" for i in range(40_000)), "漢字" * 40_000, "ab" * 50_000])
def test_tokens_and_queries_are_bounded(text: str) -> None:
    tokens = tokenize([text])
    assert len(tokens) <= MAX_TOKENS
    assert sum(len(token.encode()) + 1 for token in tokens) <= MAX_BYTES
    words = parse_query(text)
    assert len(words) <= MAX_WORDS
    assert all(len(alternative) <= MAX_WORDS for word in words for alternative in word)


def test_all_columns_of_a_wide_dataset_are_tokenized() -> None:
    assert {f"{i:05}" for i in range(10_000)} <= set(tokenize(f"col_{i:05}" for i in range(10_000)))

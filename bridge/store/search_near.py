"""Names that are spelled nearly like a word that nothing was found for."""

from difflib import get_close_matches

from bridge.store import search_tokens as tokens
from bridge.store.search_expression import Sought
from mappers.tokens import Token, Word, tokens_of, words_of

#: How many characters a mistyped word shares with the beginning of the one that was meant, and how long it is.
_SHARED, _LEAST = 2, 4
_CLOSE = 0.75
MOST_NEAR = 3
#: How many names that begin alike are compared.
MOST_COMPARED = 300


def begins_alike(query: str, filters: tuple[Word, ...]) -> Sought | None:
    """Say which entries may have names near to the longest word of a query."""
    word = _longest(query)
    if word is None:
        return None
    return Sought((((Token(tokens.NAME + word[:_SHARED], prefix=True),),), *filters))


def nearest(query: str, names: list[str]) -> list[str]:
    """Pick the words of these names that are nearest to the longest word of a query."""
    word = _longest(query) or ""
    return get_close_matches(word, sorted(tokens_of(names)), MOST_NEAR, _CLOSE)


def _longest(query: str) -> str | None:
    words = [word[0][0].text for word in words_of(query)]
    longest = max(words, key=len, default="")
    return longest if len(longest) >= _LEAST else None

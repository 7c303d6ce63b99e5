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
MOST_COMPARED = 50


def begins_alike(query: str, filters: tuple[Word, ...]) -> Sought | None:
    """Say which entries may have names near to a query of one word."""
    word = _only_word(query)
    if word is None:
        return None
    return Sought((((Token(tokens.NAME + word[:_SHARED], prefix=True),),), *filters))


def nearest(query: str, names: list[str]) -> list[str]:
    """Pick the words of these names that are nearest to a query of one word."""
    word = _only_word(query) or ""
    alike = sorted(token for token in tokens_of(names) if token.startswith(word[:_SHARED]))
    return get_close_matches(word, alike, MOST_NEAR, _CLOSE) if word not in alike else []


def _only_word(query: str) -> str | None:
    """Give the word of a query of one word: of several, who knows which is mistyped."""
    words = words_of(query)
    if len(words) != 1:
        return None
    text = words[0][0][0].text
    return text if len(text) >= _LEAST else None

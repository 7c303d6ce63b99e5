"""Texts as the tokens by which they are found: the same for every store, and harmless to each of them.

A token consists of letters and digits alone, so no quote, operator or NUL of a stranger's name ever reaches a query.
"""

import re
import unicodedata
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from mappers.memory import remembered

#: Longer words are cut, in texts as in queries.
LONGEST = 48
#: How many tokens a text has at most, and how many bytes: PostgreSQL takes 1 MB of them.
MOST_TOKENS, MOST_BYTES = 12_000, 400_000
#: How many words of a query count, and how many parts of each.
MOST_WORDS = 24

#: Characters of scripts that set no spaces between words: of these, every pair that stands together is a token.
_UNSPACED = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(f"(?:(?=\\w)[{_UNSPACED}])+|[^\\W_{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
#: The parts of a word, by the kinds of its characters: capitals before a capitalised part are a part of their own.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


class Token(NamedTuple):
    """What a query looks for: a token, or all that begin with it."""

    text: str
    prefix: bool = False


#: One word of a query: any of these alternatives, each of which is all of its tokens.
Word = tuple[tuple[Token, ...], ...]


def fold(text: str) -> str:
    """Give the one spelling of texts that differ in case, in width, or in how their accents are encoded."""
    if text.isascii():
        return text.lower()
    return _composed(_composed(text).casefold())


def tokens_of(texts: Iterable[str]) -> dict[str, None]:
    """Give the distinct tokens of texts in their order, as many as there is room for."""
    found: dict[str, None] = {}
    room = MOST_BYTES
    for text in texts:
        for word in _WORD.finditer(_composed(text)):
            for token in _tokens(word.group()):
                if token not in found:
                    room -= len(token.encode()) + 1
                    if room < 0 or len(found) == MOST_TOKENS:
                        return found
                    found[token] = None
    return found


def words_of(query: str) -> list[Word]:
    """Read a query: every word of it must be found, the last one as a beginning."""
    spelled = (_alternatives(found.group()) for found in _WORD.finditer(_composed(query)))
    words = list(islice((word for word in spelled if word), MOST_WORDS))
    if words:
        words[-1] = tuple((*tokens[:-1], tokens[-1]._replace(prefix=True)) for tokens in words[-1])
    return words


def _composed(text: str) -> str:
    """Make characters the same that look the same, and drop the marks that no letter takes in."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c)[0] != "M")


@remembered(1 << 14)
def _tokens(word: str) -> tuple[str, ...]:
    """Give the tokens of a word: the whole and its parts; of scripts without spaces, characters and pairs."""
    if _IS_UNSPACED.match(word):
        return tuple(dict.fromkeys((*word, *_pairs(word))))
    return tuple(dict.fromkeys(token for token in (_folded(word), *_parts(word)) if token))


def _alternatives(word: str) -> Word:
    """Give the ways in which a word of a query may be found: as a whole, or in its parts."""
    if _IS_UNSPACED.match(word):
        return (tuple(map(Token, (_pairs(word) or [word])[:MOST_WORDS])),)
    spelled = dict.fromkeys(((_folded(word),), tuple(_parts(word)[:MOST_WORDS])))
    return tuple(tuple(map(Token, tokens)) for tokens in spelled if all(tokens))


def _parts(word: str) -> list[str]:
    """Take a word apart where small letters meet capitals, and letters digits."""
    kinds = word if word.isascii() else "".join(map(_kind, word))
    return [part for found in _PART.finditer(kinds) if (part := _folded(word[found.start() : found.end()]))]


def _kind(character: str) -> str:
    """Give an ASCII character that stands for all of its kind."""
    if not character.isalpha():
        return "0"
    return "A" if character.isupper() or character.istitle() else "a"


def _pairs(word: str) -> list[str]:
    return [word[i : i + 2] for i in range(len(word) - 1)]


def _folded(word: str) -> str:
    return "".join(_WORD.findall(fold(word)))[:LONGEST]

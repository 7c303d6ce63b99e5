"""Tokenizes text and queries for the search index."""

import re
import unicodedata
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from mappers.cache import bounded_lru_cache
from mappers.canonical.identity import digest
from mappers.naming import canonical_namespace, short_name

#: Longer words are cut, in texts as in queries.
MAX_LENGTH = 48
#: How many tokens a text has at most, and how many bytes: PostgreSQL takes 1 MB of them.
MAX_TOKENS, MAX_BYTES = 12_000, 400_000
#: How many words of a query count, and how many parts of each.
MAX_WORDS = 24

#: Characters of scripts that set no spaces between words: of these, every pair that stands together is a token.
_UNSPACED = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(f"(?:(?=\\w)[{_UNSPACED}])+|[^\\W_{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
#: The parts of a word, by the kinds of its characters: capitals before a capitalised part are a part of their own.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


class QueryToken(NamedTuple):
    """What a query looks for: a token, or all that begin with it."""

    text: str
    prefix: bool = False


#: One word of a query: any of these alternatives, each of which is all of its tokens.
QueryWord = tuple[tuple[QueryToken, ...], ...]


def normalize(text: str) -> str:
    """Give the one spelling of texts that differ in case, in width, or in how their accents are encoded."""
    if text.isascii():
        return text.lower()
    return _composed(_composed(text).casefold())


def tokenize(texts: Iterable[str]) -> dict[str, None]:
    """Give the distinct tokens of texts in their order, as many as there is room for."""
    found: dict[str, None] = {}
    room = MAX_BYTES
    for text in texts:
        for word in _WORD.finditer(_composed(text)):
            for token in _tokens(word.group()):
                if token not in found:
                    room -= len(token.encode()) + 1
                    if room < 0 or len(found) == MAX_TOKENS:
                        return found
                    found[token] = None
    return found


def parse_query(query: str) -> list[QueryWord]:
    """Read a query: every word of it must be found, the last one as a beginning."""
    spelled = (_alternatives(found.group()) for found in _WORD.finditer(_composed(query)))
    words = list(islice((word for word in spelled if word), MAX_WORDS))
    if words:
        words[-1] = tuple((*tokens[:-1], tokens[-1]._replace(prefix=True)) for tokens in words[-1])
    return words


def _composed(text: str) -> str:
    """Make characters the same that look the same, and drop the marks that no letter takes in."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c)[0] != "M")


@bounded_lru_cache(1 << 14)
def _tokens(word: str) -> tuple[str, ...]:
    """Give the tokens of a word: the whole and its parts; of scripts without spaces, characters and pairs."""
    if _IS_UNSPACED.match(word):
        return tuple(dict.fromkeys((*word, *_pairs(word))))
    return tuple(dict.fromkeys(token for token in (_folded(word), *_parts(word)) if token))


def _alternatives(word: str) -> QueryWord:
    """Give the ways in which a word of a query may be found: as a whole, or in its parts."""
    if _IS_UNSPACED.match(word):
        return (tuple(map(QueryToken, (_pairs(word) or [word])[:MAX_WORDS])),)
    spelled = dict.fromkeys(((_folded(word),), tuple(_parts(word)[:MAX_WORDS])))
    return tuple(tuple(map(QueryToken, tokens)) for tokens in spelled if all(tokens))


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
    return "".join(_WORD.findall(normalize(word)))[:MAX_LENGTH]


#: Words of names, words of anything, and whole names; then what filters look for.
NAME, ANY, EXACT = "n", "a", "x"
KIND, OWNER, TAG, CATEGORY, FORMAT, NAMESPACE = "k", "o", "t", "c", "f", "s"

#: How many bytes of a namespace are compared: longer ones are told apart by a hash of the whole.
_NAMESPACE_BYTES = 200
_END = "z"


def words(letter: str, texts: Iterable[str]) -> list[str]:
    """Give the tokens of texts."""
    return [letter + token for token in tokenize(texts)]


def value(letter: str, text: str) -> str:
    """Give the token of a value that is found as a whole, in whatever case."""
    return letter + digest(normalize(text.strip()).encode(errors="backslashreplace"))[:6].hex()


def names(namespace: str, name: str) -> set[str]:
    """Give the tokens of a name as a whole: alone, shortened, its last part, and behind its namespace."""
    last = name.rstrip("/").rpartition("/" if "/" in name else ".")[2]
    called = (name, short_name(name), last, namespace + name, f"{namespace}/{name}", f"{namespace} {name}")
    return {value(EXACT, text) for text in called if text}


def namespace_token(namespace: str) -> str:
    """Give the token of a namespace, which tells its beginnings, too."""
    whole = namespace.encode(errors="backslashreplace")
    beginning = NAMESPACE + whole[:_NAMESPACE_BYTES].hex()
    return beginning + (_END if len(whole) <= _NAMESPACE_BYTES else digest(whole).hex())


def namespace_filter(pattern: str) -> QueryWord:
    """Read a namespace to filter by: spelled in any way it may have been sent, or a beginning that ends in `*`."""
    spellings = dict.fromkeys((pattern, canonical_namespace(pattern)))
    if not pattern.endswith("*"):
        return tuple((QueryToken(namespace_token(spelling)),) for spelling in spellings)
    beginnings = (spelling[:-1].encode(errors="backslashreplace")[:_NAMESPACE_BYTES].hex() for spelling in spellings)
    return tuple((QueryToken(NAMESPACE + beginning, prefix=True),) for beginning in beginnings)


def query_words(letter: str, query: str) -> tuple[QueryWord, ...]:
    """Read a query as the tokens that must be there."""
    return tuple(
        tuple(tuple(token._replace(text=letter + token.text) for token in tokens) for tokens in word)
        for word in parse_query(query)
    )

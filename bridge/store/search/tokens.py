"""Tokenizes text and queries for the search index."""

import re
import unicodedata
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from mappers.cache import bounded_lru_cache
from mappers.canonical.identity import digest
from mappers.naming import canonical_namespace, short_name

#: Longer words are truncated, in texts as in queries.
MAX_LENGTH = 48
#: Maximum number of tokens of a text, and of their bytes: PostgreSQL accepts 1 MB.
MAX_TOKENS, MAX_BYTES = 12_000, 400_000
#: Maximum number of words in a query, and of parts of a word.
MAX_WORDS = 24

#: Characters of scripts without spaces between words: each pair of adjacent characters is a token.
_UNSPACED = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(f"(?:(?=\\w)[{_UNSPACED}])+|[^\\W_{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
#: Parts of a word by kind of character; capitals in front of a capitalized part are a separate part.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


class QueryToken(NamedTuple):
    """A token to match, or a prefix of tokens."""

    text: str
    prefix: bool = False


#: A word of a query: any of the alternatives must match, with all of its tokens.
QueryWord = tuple[tuple[QueryToken, ...], ...]


def normalize(text: str) -> str:
    """Remove differences in case, in width, and in how accents are encoded."""
    if text.isascii():
        return text.lower()
    return _unify_characters(_unify_characters(text).casefold())


def tokenize(texts: Iterable[str]) -> dict[str, None]:
    """List the distinct tokens of these texts in order, as keys, up to MAX_TOKENS and MAX_BYTES."""
    tokens: dict[str, None] = {}
    bytes_left = MAX_BYTES
    for text in texts:
        for word in _WORD.finditer(_unify_characters(text)):
            for token in _tokens_of_word(word.group()):
                if token not in tokens:
                    bytes_left -= len(token.encode()) + 1
                    if bytes_left < 0 or len(tokens) == MAX_TOKENS:
                        return tokens
                    tokens[token] = None
    return tokens


def parse_query(query: str) -> list[QueryWord]:
    """Parse a query into words that must all match. The last word also matches as a prefix."""
    alternatives = (_alternatives(match.group()) for match in _WORD.finditer(_unify_characters(query)))
    words = list(islice((word for word in alternatives if word), MAX_WORDS))
    if not words:
        return []
    *complete_words, last_word = words
    return [*complete_words, tuple((*tokens, last._replace(prefix=True)) for *tokens, last in last_word)]


def _unify_characters(text: str) -> str:
    """Unify characters that look alike, and drop marks that cannot be combined with a letter."""
    if text.isascii():
        return text
    return "".join(
        character
        for character in unicodedata.normalize("NFKC", text)
        if not unicodedata.category(character).startswith("M")
    )


@bounded_lru_cache(1 << 14)
def _tokens_of_word(word: str) -> tuple[str, ...]:
    """Return the tokens of a word: the word and its parts or, in scripts without spaces, characters and pairs."""
    if _IS_UNSPACED.match(word):
        return tuple(dict.fromkeys((*word, *_character_pairs(word))))
    return tuple(dict.fromkeys(token for token in (_normalize_word(word), *_word_parts(word)) if token))


def _alternatives(word: str) -> QueryWord:
    """List the ways in which a word of a query can match: as a whole, or by its parts."""
    if _IS_UNSPACED.match(word):
        characters_or_pairs = _character_pairs(word) or [word]
        return (tuple(map(QueryToken, characters_or_pairs[:MAX_WORDS])),)
    whole_word, parts = (_normalize_word(word),), tuple(_word_parts(word)[:MAX_WORDS])
    alternatives = dict.fromkeys((whole_word, parts))
    return tuple(tuple(map(QueryToken, tokens)) for tokens in alternatives if all(tokens))


def _word_parts(word: str) -> list[str]:
    """Split a word between lower case and capitals, and between letters and digits."""
    ascii_word = word if word.isascii() else "".join(map(_ascii_of_same_kind, word))
    parts = (_normalize_word(word[match.start() : match.end()]) for match in _PART.finditer(ascii_word))
    return [part for part in parts if part]


def _ascii_of_same_kind(character: str) -> str:
    """Return an ASCII capital, lower-case letter or digit, whichever the character is."""
    if not character.isalpha():
        return "0"
    return "A" if character.isupper() or character.istitle() else "a"


def _character_pairs(word: str) -> list[str]:
    return [word[start : start + 2] for start in range(len(word) - 1)]


def _normalize_word(word: str) -> str:
    """Normalize a word, and truncate it to MAX_LENGTH."""
    return "".join(_WORD.findall(normalize(word)))[:MAX_LENGTH]


#: First letters of tokens: word of a name, word of any text, whole name; then the filters.
NAME, ANY, EXACT = "n", "a", "x"
KIND, OWNER, TAG, CATEGORY, FORMAT, NAMESPACE = "k", "o", "t", "c", "f", "s"

#: Length of the comparable prefix of a namespace; longer namespaces are distinguished by a hash.
_NAMESPACE_BYTES = 200
_END = "z"


def word_tokens(first_letter: str, texts: Iterable[str]) -> list[str]:
    return [first_letter + token for token in tokenize(texts)]


def value_token(first_letter: str, value: str) -> str:
    """Return the token of a value that must match as a whole, regardless of case."""
    return first_letter + digest(normalize(value.strip()).encode(errors="backslashreplace"))[:6].hex()


def name_tokens(namespace: str, name: str) -> set[str]:
    """Return the tokens of a whole name: the name, its short form, its last part, and the name with its namespace."""
    separator = "/" if "/" in name else "."
    _, _, last_part = name.rstrip("/").rpartition(separator)
    spellings = (name, short_name(name), last_part, namespace + name, f"{namespace}/{name}", f"{namespace} {name}")
    return {value_token(EXACT, spelling) for spelling in spellings if spelling}


def namespace_token(namespace: str) -> str:
    """Return the token of a namespace. Prefixes of the token match prefixes of the namespace."""
    encoded = namespace.encode(errors="backslashreplace")
    prefix = NAMESPACE + encoded[:_NAMESPACE_BYTES].hex()
    return prefix + (_END if len(encoded) <= _NAMESPACE_BYTES else digest(encoded).hex())


def namespace_filter(pattern: str) -> QueryWord:
    """Build the filter for a namespace in any of its spellings, or for a prefix that ends in `*`."""
    spellings = dict.fromkeys((pattern, canonical_namespace(pattern)))
    if not pattern.endswith("*"):
        return tuple((QueryToken(namespace_token(spelling)),) for spelling in spellings)
    prefixes = (spelling[:-1].encode(errors="backslashreplace")[:_NAMESPACE_BYTES].hex() for spelling in spellings)
    return tuple((QueryToken(NAMESPACE + prefix, prefix=True),) for prefix in prefixes)


def query_words(first_letter: str, query: str) -> tuple[QueryWord, ...]:
    """Parse a query, and prefix each of its tokens with this first letter."""

    def with_first_letter(tokens: tuple[QueryToken, ...]) -> tuple[QueryToken, ...]:
        return tuple(token._replace(text=first_letter + token.text) for token in tokens)

    return tuple(tuple(map(with_first_letter, alternatives)) for alternatives in parse_query(query))

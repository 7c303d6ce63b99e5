"""The tokens of search entries and of searches: each begins with a letter for what it is a token of."""

from collections.abc import Iterable

from mappers.canonical.identity import digest
from mappers.naming import canonical_namespace, short_name
from mappers.tokens import Token, Word, fold, tokens_of, words_of

#: Words of names, words of anything, and whole names; then what filters look for.
NAME, ANY, EXACT = "n", "a", "x"
KIND, OWNER, TAG, CATEGORY, FORMAT, NAMESPACE = "k", "o", "t", "c", "f", "s"

#: How many bytes of a namespace are compared: longer ones are told apart by a hash of the whole.
_NAMESPACE_BYTES = 200
_END = "z"


def words(letter: str, texts: Iterable[str]) -> list[str]:
    """Give the tokens of texts."""
    return [letter + token for token in tokens_of(texts)]


def value(letter: str, text: str) -> str:
    """Give the token of a value that is found as a whole, in whatever case."""
    return letter + digest(fold(text.strip()).encode(errors="backslashreplace"))[:6].hex()


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


def sought_namespace(pattern: str) -> Word:
    """Read a namespace to filter by: spelled in any way it may have been sent, or a beginning that ends in `*`."""
    spellings = dict.fromkeys((pattern, canonical_namespace(pattern)))
    if not pattern.endswith("*"):
        return tuple((Token(namespace_token(spelling)),) for spelling in spellings)
    beginnings = (spelling[:-1].encode(errors="backslashreplace")[:_NAMESPACE_BYTES].hex() for spelling in spellings)
    return tuple((Token(NAMESPACE + beginning, prefix=True),) for beginning in beginnings)


def sought_words(letter: str, query: str) -> tuple[Word, ...]:
    """Read a query as the tokens that must be there."""
    return tuple(
        tuple(tuple(token._replace(text=letter + token.text) for token in tokens) for tokens in word)
        for word in words_of(query)
    )

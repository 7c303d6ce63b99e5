"""Texts short enough to be keys: what a store sorts by must fit into a page of its index."""

from mappers.canonical.identity import digest

#: PostgreSQL takes about 2,700 bytes into an index entry, and a character has up to four.
MOST_CHARACTERS = 400


def bounded(text: str) -> str:
    """Give a text as it is, or its beginning and the hash of the whole when it is too long for a key.

    What is given for a long text is itself longer than the bound, so that no other text comes out as the same.
    """
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}…{digest(text.encode()).hex()}"

"""What the server makes of a description: HTML is sanitised, and special characters become entities."""

import html
import re

from tests.standins.openmetadata.names import words

_KEPT = frozenset(
    words(
        "a b big blockquote br code col colgroup del div em font h1 h2 h3 h4 h5 h6 hr i img ins li o ol p pre s small span "
        "strike strong sub sup table tbody td tfoot th thead tr tt u ul"
    )
)
_EMPTY = frozenset({"br", "col", "hr", "img"})
_TAG = re.compile(r"<!--.*?-->|<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:\"[^\"]*\"|'[^']*'|[^'\">])*)>", re.DOTALL)
_VANISHING = re.compile(r"<(script|style)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z0-9 \n\t.,;:_/?!()#%*|$^~\\\[\]}-]*")
_ENTITIES = {ord(char): f"&#{ord(char)};" for char in "\"'+=@`"}
_ENTITIES |= {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", 0: ""}
_WIDE = re.compile(r"[\U00010000-\U0010ffff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def stored(text: str) -> str:
    """Give a description as it is stored; doing it twice changes nothing."""
    if _PLAIN.fullmatch(text):
        return text
    text = _VANISHING.sub("", text)
    out: list[str] = []
    open_tags: list[str] = []
    end = 0
    for found in _TAG.finditer(text):
        out.append(_escaped(text[end : found.start()]))
        end = found.end()
        if found[2]:
            out.append(_kept_tag(found[2].lower(), bool(found[1]), open_tags))
    out.append(_escaped(text[end:]))
    out.extend(f"</{tag}>" for tag in reversed(open_tags))
    return "".join(out).replace("{{", "{<!-- -->{")


def _kept_tag(tag: str, closing: bool, open_tags: list[str]) -> str:
    if tag not in _KEPT or (closing and tag not in open_tags):
        return ""
    if tag in _EMPTY:
        return f"<{tag} />"
    if closing:
        open_tags.remove(tag)
        return f"</{tag}>"
    open_tags.append(tag)
    return f"<{tag}>"


def _escaped(text: str) -> str:
    plain = _SURROGATE.sub("", html.unescape(text)).translate(_ENTITIES)
    return _WIDE.sub(lambda found: f"&#x{ord(found[0]):x};", plain)

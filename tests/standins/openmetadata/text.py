"""Sanitizes descriptions as the server does: removes unsafe HTML and escapes special characters."""

import html
import re

from tests.standins.openmetadata.names import split_words

_ALLOWED_TAGS = frozenset(
    split_words(
        "a b big blockquote br code col colgroup del div em font h1 h2 h3 h4 h5 h6 hr i img ins li o ol p pre s small span "
        "strike strong sub sup table tbody td tfoot th thead tr tt u ul"
    )
)
_VOID_TAGS = frozenset({"br", "col", "hr", "img"})
_TAG = re.compile(r"<!--.*?-->|<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:\"[^\"]*\"|'[^']*'|[^'\">])*)>", re.DOTALL)
_REMOVED_ELEMENTS = re.compile(r"<(script|style)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z0-9 \n\t.,;:_/?!()#%*|$^~\\\[\]}-]*")
_ENTITIES = {ord(char): f"&#{ord(char)};" for char in "\"'+=@`"}
_ENTITIES |= {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", 0: ""}
_WIDE = re.compile(r"[\U00010000-\U0010ffff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def sanitize(text: str) -> str:
    """Sanitize a description; idempotent."""
    if _PLAIN.fullmatch(text):
        return text
    text = _REMOVED_ELEMENTS.sub("", text)
    out: list[str] = []
    open_tags: list[str] = []
    end = 0
    for match in _TAG.finditer(text):
        out.append(_escape(text[end : match.start()]))
        end = match.end()
        if match[2]:
            out.append(_render_tag(match[2].lower(), bool(match[1]), open_tags))
    out.append(_escape(text[end:]))
    out.extend(f"</{tag}>" for tag in reversed(open_tags))
    return "".join(out).replace("{{", "{<!-- -->{")


def _render_tag(tag: str, closing: bool, open_tags: list[str]) -> str:
    if tag not in _ALLOWED_TAGS or (closing and tag not in open_tags):
        return ""
    if tag in _VOID_TAGS:
        return f"<{tag} />"
    if closing:
        open_tags.remove(tag)
        return f"</{tag}>"
    open_tags.append(tag)
    return f"<{tag}>"


def _escape(text: str) -> str:
    plain = _SURROGATE.sub("", html.unescape(text)).translate(_ENTITIES)
    return _WIDE.sub(lambda match: f"&#x{ord(match[0]):x};", plain)

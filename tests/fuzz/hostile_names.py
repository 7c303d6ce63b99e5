"""Unusual names: control characters, quotes, scripts, long texts, injections."""

from hashlib import sha256

#: 20,000 characters that do not compress.
_INCOMPRESSIBLE = "".join(sha256(bytes([i % 256, i // 256])).hexdigest() for i in range(313))[:20_000]

HOSTILE: dict[str, str] = {
    "quotes": "'\"`''\"\"",
    "slashes": "//a/../..//b/",
    "backslashes": "\\\\a\\'\\n\\u0041\\x00",
    "percent": "%s %(a)s %% %00 100%",
    "colons": "a:b::c:",
    "newlines": "a\nb\r\nc\td\u2028e\u2029f\x85g",
    "controls": "\x01\x1b[31mred\x1b[0m\x07\x7f\x9b2J",
    "right to left": "\u202eevil\u202c שלום مرحبا",
    "zero width": "a\u200bb\u200cc\u200dd\ufeffe\u2060",
    "combining": "Z̷͇̩̊a̸͖͛l̶̰̑g̵̣̈́o̴ e\u0301 é",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈🇺🇳",
    "astral": "\U0001d56c\U00020000\U0010ffff\uffff\ufffe",
    "case": "İıßŉſKΣς",
    "spaces": "  a\u00a0\u3000b  ",
    "one space": " ",
    "sql": "'; DROP TABLE ol_dataset; -- ?1 $1 :name @x {ids}",
    "like": "100%_[a-z]*?",
    "html": "<script>alert('x')</script>&amp;<img src=x onerror=alert(1)>",
    "yaml": "*a &b !c |\n  - {x: [y]} # z\n---\n...",
    "json": '{"a": ["\\"]}, null]',
    "template": "${jndi:ldap://x/a} {{7*7}} $(id) `id`",
    "null": "null",
    "number": "0x1F",
    "2,000 letters": "k" * 2000,
    "2,000 wide letters": "\U0001f9ea漢" * 1000,
    "20,000 characters": _INCOMPRESSIBLE,
    "20,000 of 4 bytes": "".join(chr(0x20000 + ord(c) * 97 + i % 89) for i, c in enumerate(_INCOMPRESSIBLE)),
}

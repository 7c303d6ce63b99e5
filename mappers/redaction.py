"""Redacts passwords, tokens and keys in commands, URLs and documents."""

import hashlib
import re
from typing import Any, NamedTuple

MASK = "***"
#: Parts of names and options that denote secrets; `passport`, `passenger` and `passed` do not.
_KEY_WORDS = r"(?:api|access|private|account|storage|shared)[._-]?key"
_SECRET_WORDS = rf"(?:pass(?!port|enger|iv|ed|age|ing)|pwd|secret|token|{_KEY_WORDS}|credentials?)"
_SECRET_NAME = re.compile(rf"{_SECRET_WORDS}|private|(?:^|_)pw$", re.IGNORECASE)
#: The value of a secret; only a quoted value contains blanks.
_VALUE = r"(N?\"[^\"]*\"|N?'[^']*'|[^\s;&|\"')]+)"
_VALUE_NOT_OPTION = r"(?![-=:])(\"[^\"]*\"|'[^']*'|[^\s;&|\"')]+)"
_BOUNDARY = r"(?:^|[\s;&|\"'({])"
#: A word that contains a secret's name. The lookahead and the possessive quantifiers keep the patterns linear.
_SECRET_WORD = rf"(?=[\w.-]*?{_SECRET_WORDS})[\w.-]++"
#: `-password=x`, `PASSWORD=x`, `/password:x`, `"passwd": "x"`; `--password x`, `password 'x'`.
_NAMED_SECRETS = (
    re.compile(rf"({_BOUNDARY}[-/]{{0,2}}{_SECRET_WORD}[\"']?\s*+[=:]\s*+){_VALUE}", re.IGNORECASE),
    re.compile(
        rf"({_BOUNDARY}(?:--?{_SECRET_WORD}|(?:password|passwd|passphrase))\s++){_VALUE_NOT_OPTION}", re.IGNORECASE
    ),
)
#: `user:password@host` in URLs, `user/password@host` in Oracle URLs; `?password=x`, `;password=x`, `,password=x`.
_URL_PASSWORD = re.compile(r"(://[^\s/:@\"']*:)([^\s@\"'/]+)(@)")
_ORACLE_PASSWORD = re.compile(r"(jdbc:oracle:\w+:[^\s/:@]*/)([^\s@]+)(@|(?=\s|$))", re.IGNORECASE)
_URL_PARAMETER = re.compile(rf"([?&;:]{_SECRET_WORD}=)([^\s&;\"']+)()", re.IGNORECASE)
_URL_PROPERTY = re.compile(rf"([,/]{_SECRET_WORD}=)('[^']*'|[^\s&;,\"']+)()", re.IGNORECASE)
#: User and password of a URL, which may lack its scheme; a password may contain slashes.
_USER_INFO = re.compile(r"\A([A-Za-z][\w+.-]*+://)?[^\s@]*+(?:@[^\s@]*+)*@")
_URL_PATH = re.compile(r"\A([A-Za-z][\w+.-]*+://[^/?#]*+)([/?#].+)\Z", re.DOTALL)
_REDACTED_PATH = re.compile(r"/\*\*\*-[0-9a-f]{12}")
_URL_START = re.compile(r"://|jdbc:", re.IGNORECASE)
#: `user/password@db`, as sqlplus accepts it.
_ORACLE_LOGIN = re.compile(r"(?<![\w$#/.-])([$#]*+[A-Za-z_][\w$#.-]*+/)([^\s/@\"']+)(@[\w.:/-]+)")
_QUOTED_LOGIN = re.compile(r"([\"'][A-Za-z_][\w$#]*/)([^\s/@\"']+)([\"']?@)")
#: The part of a command after the program, including quoted text.
_COMMAND_REST = r"(?:[^;&|\"']++|\"[^\"]*+\"|'[^']*+')*+"
#: Options that contain or precede a secret; their meaning depends on the program.
_SECRET_OPTIONS = {
    "mysql\\w*|mariadb\\w*|7z\\w*": r"-p(?=\S)", "isql|bcp|osql|sqlcmd|tsql": r"-P\s*", "sshpass": r"-p\s*",
    "beeline|pmcmd|pmrep|tdload|mongo\\w*": r"-p\s+", "pmrep": r"-x\s+", "redis-cli": r"-a\s+",
    "ldap\\w+": r"-w\s*", "nz\\w+|plink|pscp|psftp": r"-pw\s+", "unzip|zip": r"-P\s*", "openssl": r"-[kK]\s+",
    "lftp|ncftp\\w*": r"-u\s*[^\s,]+,",
    "smb\\w+": r"(?:-U\s*|--user[= ])[^\s%]+%",
}  # fmt: skip


class _CommandSecret(NamedTuple):
    """Secrets in the arguments of a program; a limit of 0 redacts all of them."""

    command: re.Pattern[str]
    secret: re.Pattern[str]
    limit: int = 0

    def redact(self, text: str) -> str:
        return self.command.sub(lambda match: self.secret.sub(rf"\g<1>{MASK}", match[0], self.limit), text)


_COMMAND_SECRETS = (
    *(
        _CommandSecret(
            re.compile(rf"\b(?:{program})\b{_COMMAND_REST}"), re.compile(rf"(\s{option}){_VALUE_NOT_OPTION}")
        )
        for program, option in _SECRET_OPTIONS.items()
    ),
    _CommandSecret(
        re.compile(r"\bdb2\b[^;&|]*+", re.IGNORECASE),
        re.compile(r"(\busing\s+)([^\s\"';]+)", re.IGNORECASE),
    ),
    # `user/password` in Oracle's programs.
    _CommandSecret(
        re.compile(r"\bsqlplus\b(?:(?!\bsqlplus\b)[^;&|])*+(?:[;&|][^\s@\"']*+)?", re.IGNORECASE),
        re.compile(r"(\s[\"']?[A-Za-z_][\w$#]*/)([^\s@\"']+)"),
        limit=1,
    ),
)
_OTHER_SECRETS = (
    # `-u user:password`, as in curl, but not `-u URL`.
    re.compile(r"((?:^|\s)(?:-u|--user)[ =]?[\"']?(?!\S*://)[^\s:\"']+:)([^\s\"']+)"),
    re.compile(r"(\buser\s++\S++\s++using\s++)([^\s\"';]+)", re.IGNORECASE),
    re.compile(
        r"((?<![\w-])(?:exp|imp|expdp|impdp|sqlldr|sqlcl|rman(?:\s+(?:target|catalog|auxiliary))++)(?:\s++-\S++){0,20}+"
        r"\s++[\"']?[A-Za-z_][\w$#]*/)([^\s@\"'/]++)(?![^\s@]*/)", re.IGNORECASE),
    re.compile(r"(\buserid\s*=\s*[\"']?[^\s/\"'@=]*/)([^\s@\"']+)", re.IGNORECASE),
    re.compile(r"(\.logon\s+[^\s,;]+,)([^\s;\"']+)", re.IGNORECASE),
    re.compile(r"(\b(?:Bearer|Basic)\s+)([A-Za-z0-9+/_.=~-]{8,})"),
    re.compile(rf"(name=\"?{_SECRET_WORD}\"?\s*+,\s*+value=)(\"[^\"]*\"|\S+)", re.IGNORECASE),
    # SQL that creates or alters a user.
    re.compile(rf"(\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:values\s+)?){_VALUE}", re.IGNORECASE),
    re.compile(rf"(\bidentified\s+by\s+\S+\s+replace\s+){_VALUE}", re.IGNORECASE),
)  # fmt: skip
#: Text that contains none of these contains no secret.
_HINT = re.compile(
    r"pass|pwd|secret|token|key|cred|://|jdbc:|@|\s-[aAkKpPuUwx]|--user|userid|using|logon|identified|bearer|basic"
    r"|sqlplus|sqlldr|sqlcl|rman|\b(?:exp|imp)", re.IGNORECASE
)  # fmt: skip


def is_secret_name(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def redact_command(text: str) -> str:
    """Replace everything that looks like a secret in a command with `***`."""
    if not _HINT.search(text):
        return text
    text = redact_url(text)
    for pattern in (_ORACLE_LOGIN, _QUOTED_LOGIN):
        text = pattern.sub(rf"\g<1>{MASK}\g<3>", text)
    for command_secret in _COMMAND_SECRETS:
        text = command_secret.redact(text)
    for pattern in (*_OTHER_SECRETS, _URL_PROPERTY, *_NAMED_SECRETS):
        text = pattern.sub(rf"\g<1>{MASK}", text)
    return text


def redact_value(name: str, value: str) -> str:
    """Redact the whole value if its name denotes a secret, otherwise only the secrets within the value."""
    return MASK if is_secret_name(name) else redact_command(value)


def redact_url(text: str) -> str:
    """Redact the passwords in URLs, and nothing else."""
    if not _URL_START.search(text):
        return text
    for pattern in (_URL_PASSWORD, _ORACLE_PASSWORD, _URL_PARAMETER, _URL_PROPERTY):
        text = pattern.sub(rf"\g<1>{MASK}\g<3>", text)
    return text


def redact_user_info(url: str) -> str:
    """Redact the user and the password of a URL, or of a text that was meant to be one."""
    return _USER_INFO.sub(rf"\g<1>{MASK}@", url)


def redact_path(url: str) -> str:
    """Replace the path of a URL by a mask and a hash, by which URLs can still be distinguished."""
    match = _URL_PATH.match(url)
    if match is None or match[2] == "/" or _REDACTED_PATH.fullmatch(match[2]):
        return url
    return f"{match[1]}/{MASK}-{hashlib.sha256(url.encode()).hexdigest()[:12]}"


def redact_document(value: Any) -> Any:
    """Redact members whose names denote secrets, and passwords in URLs, at any depth."""
    if isinstance(value, dict):
        return {key: MASK if is_secret_name(key) else redact_document(member) for key, member in value.items()}
    if isinstance(value, list):
        return [redact_document(item) for item in value]
    if isinstance(value, str):
        return redact_url(value)
    return value

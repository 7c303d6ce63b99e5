"""Decodes JSON, with field paths in errors, and encodes equal values as equal bytes."""

import re
from typing import Any, TypeVar

import msgspec

from mappers.errors import InvalidInput

JsonObject = dict[str, Any]

F = TypeVar("F")

_MISSING_FIELD = re.compile(r"Object missing required field `(\w+)`")


#: Larger values are decoded and encoded in parts, because a decoded value takes ten times its size in memory.
LARGE_BYTES = 1 << 20

_any_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_object_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array_decoder = msgspec.json.Decoder(list[msgspec.Raw])


def decode_for_encoding(raw: bytes | msgspec.Raw) -> Any:
    """Decode JSON for `canonical_json`. In a large value, all objects and lists stay encoded, in canonical form."""
    text = memoryview(raw)
    if len(text) <= LARGE_BYTES or text[0] not in b"{[":
        return decode_json(raw, _any_decoder)
    if text[0] == ord("{"):
        members = decode_json(raw, _object_decoder)
        return {
            name: _decode_member(member)
            for name, member in members.items()
            if bytes(memoryview(member)[:5]) != b"null"
        }
    return [_decode_member(member) for member in decode_json(raw, _array_decoder)]


def _decode_member(raw: msgspec.Raw) -> Any:
    is_nested = memoryview(raw)[0] in b"{["
    return msgspec.Raw(canonical_json(decode_for_encoding(raw))) if is_nested else decode_json(raw, _any_decoder)


def decode_member(document: dict[str, Any], name: str) -> Any:
    """Return a member of an object, decoded if it is still encoded, or None if there is no such member."""
    member = document.get(name)
    if type(member) is msgspec.Raw:
        member = document[name] = decode_for_encoding(member)
    return member


def drop_nulls(value: Any) -> Any:
    """Drop null members of objects at any depth, because null means the same as absent."""
    if isinstance(value, dict):
        return {key: drop_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [drop_nulls(item) for item in value]
    return value


def canonical_json(value: Any) -> bytes:
    """Encode with sorted keys and without null members, so that equal values yield equal bytes."""
    encoded = msgspec.json.encode(value, order="sorted")
    if b"null" not in encoded:
        return encoded
    return msgspec.json.encode(drop_nulls(value), order="sorted")


def decode_json(raw: bytes, decoder: msgspec.json.Decoder[F]) -> F:
    """Decode JSON into a type; raises InvalidInput with the path of the offending field."""
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `")
        path = path.rstrip("`").removeprefix("$")
        if match := _MISSING_FIELD.fullmatch(reason):
            reason, path = "is missing", f"{path}.{match[1]}"
        raise InvalidInput(reason, path.lstrip(".")) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"not JSON: {error}") from error
    except RecursionError as error:
        raise InvalidInput("nested too deeply") from error

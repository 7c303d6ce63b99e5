"""Facets and datasets of an event, read once for each distinct content.

The Spark listener repeats the same datasets in every event of a run and in every run of a job, so what
was read is remembered by its bytes.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from mappers.canonical.identity import digest
from mappers.errors import RefusedEvent
from mappers.openlineage.facets import SHAPES

F = TypeVar("F")

#: Larger parts are read anew each time: what is remembered must stay small whatever is sent.
_REMEMBERED_BYTES = 32_768
_SPEC_FIELDS = ("_producer", "_schemaURL")
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_decoders = {name: msgspec.json.Decoder(shape) for name, shape in SHAPES.items()}


class FacetPart(NamedTuple):
    """One facet: its canonical body (None when deleted) and the hash of that, its bytes as sent, and their meaning.

    The meaning is None for a deleted or unknown facet, and the reason for one that is not as specified.
    """

    name: str
    body: str | None
    digest: bytes
    raw: bytes
    value: Struct | RefusedEvent | None


class DatasetPart(NamedTuple):
    """One dataset of an event with its facets of all three kinds."""

    namespace: str
    name: str
    facets: dict[str, FacetPart]
    input_facets: dict[str, FacetPart]
    output_facets: dict[str, FacetPart]
    notes: tuple[str, ...]


class _DatasetShape(msgspec.Struct):
    namespace: str
    name: str
    facets: dict[str, msgspec.Raw] | None = None
    inputFacets: dict[str, msgspec.Raw] | None = None  # noqa: N815 - the spec's spelling
    outputFacets: dict[str, msgspec.Raw] | None = None  # noqa: N815


_dataset_decoder = msgspec.json.Decoder(_DatasetShape)


def without_nulls(value: Any) -> Any:
    """Drop every null member of every object: absent and null mean the same."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def canonical_json(value: Any) -> bytes:
    """Write a value the one way in which equal values are equal bytes."""
    written = msgspec.json.encode(value, order="sorted")
    if b"null" not in written:
        return written
    return msgspec.json.encode(without_nulls(value), order="sorted")


def read_facet(name: str, raw: bytes) -> FacetPart | None:
    """Read one facet; None when it is null or no object."""
    return _read_facet(name, raw) if len(raw) <= _REMEMBERED_BYTES else _read_facet.__wrapped__(name, raw)


@lru_cache(maxsize=4096)
def _read_facet(name: str, raw: bytes) -> FacetPart | None:
    value = msgspec.json.decode(raw)
    if not isinstance(value, dict):
        return None
    if value.get("_deleted") is True:
        return FacetPart(name, None, digest(b"deleted"), raw, None)
    if "/spec/facets/" in str(value.get("_schemaURL")):
        for key in _SPEC_FIELDS:
            value.pop(key, None)
    body = canonical_json(value)
    return FacetPart(name, body.decode(), digest(body), raw, _meaning(name, raw))


def _meaning(name: str, raw: bytes) -> Struct | RefusedEvent | None:
    decoder = _decoders.get(name)
    if decoder is None:
        return None
    try:
        return decoder.decode(raw)
    except (msgspec.ValidationError, RecursionError) as error:
        return RefusedEvent(str(error))


def read_facets(raw: dict[str, msgspec.Raw] | None, where: str, notes: list[str]) -> dict[str, FacetPart]:
    """Read the facets of one entity; what is no facet is noted and left out."""
    parts = {}
    for name, value in (raw or {}).items():
        part = read_facet(name, bytes(value))
        if part is not None:
            parts[name] = part
        elif bytes(value) != b"null":
            notes.append(f"{where}.{name} is no object: ignored")
    return parts


def read_dataset(raw: bytes) -> DatasetPart:
    """Read one dataset; raises RefusedEvent when it has no name."""
    return _read_dataset(raw) if len(raw) <= _REMEMBERED_BYTES else _read_dataset.__wrapped__(raw)


@lru_cache(maxsize=2048)
def _read_dataset(raw: bytes) -> DatasetPart:
    shape = decode(raw, _dataset_decoder)
    for key in ("namespace", "name"):
        if not getattr(shape, key):
            raise RefusedEvent("must not be empty", key)
    notes: list[str] = []
    return DatasetPart(
        shape.namespace,
        shape.name,
        read_facets(shape.facets, "facets", notes),
        read_facets(shape.inputFacets, "inputFacets", notes),
        read_facets(shape.outputFacets, "outputFacets", notes),
        tuple(notes),
    )


def decode(raw: bytes, decoder: msgspec.json.Decoder[F]) -> F:
    """Decode JSON into a shape, naming the field that does not fit."""
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `")
        path = path.rstrip("`").removeprefix("$")
        if missing := _MISSING.fullmatch(reason):
            reason, path = "is missing", f"{path}.{missing[1]}"
        raise RefusedEvent(reason, path.lstrip(".")) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedEvent(f"not JSON: {error}") from error
    except RecursionError as error:
        raise RefusedEvent("nested too deeply") from error


def is_deleted(part: FacetPart | None) -> bool:
    """Tell whether a facet says that what it said before holds no more."""
    return part is not None and part.body is None


def understand(part: FacetPart | None, shape: type[F], notes: list[str]) -> F | None:
    """Give what a facet means; one that is not as specified is noted and treated as unknown."""
    if part is None or part.value is None:
        return None
    if isinstance(part.value, shape):
        return part.value
    notes.append(f"facet {part.name} is not as specified: {part.value}")
    return None

"""Parses facets and datasets of events, cached by content.

The Spark listener repeats the same datasets in every event of a run and in every run of a job, so results are
cached by the parsed bytes.
"""

from functools import lru_cache
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from mappers.canonical.identity import digest
from mappers.canonical_json import canonical_json, decode_for_encoding, decode_json
from mappers.errors import InvalidInput
from mappers.openlineage.facets import FACET_TYPES
from mappers.openlineage.redaction import may_contain_secrets

F = TypeVar("F")

#: Larger facets and datasets are not cached, which limits the size of the cache.
_CACHED_BYTES = 32_768
_SPEC_FIELDS = ("_producer", "_schemaURL")


_decoders = {name: msgspec.json.Decoder(facet_type) for name, facet_type in FACET_TYPES.items()}


class ParsedFacet(NamedTuple):
    """A facet: its canonical body (None if deleted), the body's hash, the facet's bytes as sent, and its typed value.

    The typed value is None if the facet is deleted or unknown, and an InvalidInput if it violates its specification.
    """

    name: str
    body: str | None
    digest: bytes
    raw: bytes
    value: Struct | InvalidInput | None
    may_contain_secrets: bool


class ParsedDataset(NamedTuple):
    """A dataset of an event with its dataset, input and output facets."""

    namespace: str
    name: str
    facets: dict[str, ParsedFacet]
    input_facets: dict[str, ParsedFacet]
    output_facets: dict[str, ParsedFacet]
    notes: tuple[str, ...]
    may_contain_secrets: bool = False


class _DatasetJson(msgspec.Struct):
    namespace: str
    name: str
    facets: dict[str, msgspec.Raw] | None = None
    inputFacets: dict[str, msgspec.Raw] | None = None  # noqa: N815 - the spec's spelling
    outputFacets: dict[str, msgspec.Raw] | None = None  # noqa: N815


class _RegularDatasetJson(_DatasetJson, forbid_unknown_fields=True):
    """A dataset that has no members outside of the specification."""


_dataset_decoder = msgspec.json.Decoder(_DatasetJson)
_regular_dataset_decoder = msgspec.json.Decoder(_RegularDatasetJson)


def parse_facet(name: str, raw: bytes) -> ParsedFacet | None:
    """Parse a facet; returns None if the facet is null or not an object."""
    if len(raw) > _CACHED_BYTES:
        return _parse_facet.__wrapped__(name, raw)
    return _parse_facet(name, raw)


@lru_cache(maxsize=4096)
def _parse_facet(name: str, raw: bytes) -> ParsedFacet | None:
    content = decode_for_encoding(raw)
    if not isinstance(content, dict):
        return None
    if content.get("_deleted") is True:
        return ParsedFacet(name, None, digest(b"deleted"), raw, None, may_contain_secrets(raw))
    if "/spec/facets/" in str(content.get("_schemaURL")):
        for key in _SPEC_FIELDS:
            content.pop(key, None)
    body = canonical_json(content)
    return ParsedFacet(name, body.decode(), digest(body), raw, _typed_value(name, raw), may_contain_secrets(raw))


def _typed_value(name: str, raw: bytes) -> Struct | InvalidInput | None:
    decoder = _decoders.get(name)
    if decoder is None:
        return None
    try:
        return decoder.decode(raw)
    except (msgspec.ValidationError, RecursionError) as error:
        return InvalidInput(str(error))


def parse_facets(raw_facets: dict[str, msgspec.Raw] | None, path: str, notes: list[str]) -> dict[str, ParsedFacet]:
    """Parse the facets of an entity; a facet that is not an object is skipped, and a note is added."""
    facets = {}
    for name, raw_facet in (raw_facets or {}).items():
        facet = parse_facet(name, bytes(raw_facet))
        if facet is not None:
            facets[name] = facet
        elif bytes(raw_facet) != b"null":
            notes.append(f"{path}.{name} is not an object: ignored")
    return facets


def parse_dataset(raw: bytes) -> ParsedDataset:
    """Parse a dataset; raises InvalidInput if it has no name."""
    if len(raw) > _CACHED_BYTES:
        return _parse_dataset.__wrapped__(raw)
    return _parse_dataset(raw)


@lru_cache(maxsize=2048)
def _parse_dataset(raw: bytes) -> ParsedDataset:
    try:
        dataset: _DatasetJson = _regular_dataset_decoder.decode(raw)
    except (ValueError, RecursionError):
        dataset = decode_json(raw, _dataset_decoder)
    for key in ("namespace", "name"):
        if not getattr(dataset, key):
            raise InvalidInput("must not be empty", key)
    notes: list[str] = []
    facets = parse_facets(dataset.facets, "facets", notes)
    input_facets = parse_facets(dataset.inputFacets, "inputFacets", notes)
    output_facets = parse_facets(dataset.outputFacets, "outputFacets", notes)
    return ParsedDataset(
        dataset.namespace,
        dataset.name,
        facets,
        input_facets,
        output_facets,
        tuple(notes),
        _may_contain_secrets(dataset, raw, [*facets.values(), *input_facets.values(), *output_facets.values()]),
    )


def _may_contain_secrets(dataset: _DatasetJson, raw: bytes, facets: list[ParsedFacet]) -> bool:
    """Check whether a dataset may contain secrets; most of its facets occur in many datasets and are checked once."""
    sent_facets = sum(len(group or ()) for group in (dataset.facets, dataset.inputFacets, dataset.outputFacets))
    if sent_facets != len(facets) or type(dataset) is not _RegularDatasetJson:
        return may_contain_secrets(raw)
    name = f"{dataset.namespace}\n{dataset.name}"
    return may_contain_secrets(name.encode(errors="replace")) or any(facet.may_contain_secrets for facet in facets)


def is_deleted(facet: ParsedFacet | None) -> bool:
    """Return whether a facet was sent with `_deleted`, which withdraws its earlier content."""
    return facet is not None and facet.body is None


def facet_value(facet: ParsedFacet | None, facet_type: type[F], notes: list[str]) -> F | None:
    """Return the typed value of a facet, if any; adds a note if the facet does not match its specification."""
    if facet is None or facet.value is None:
        return None
    if isinstance(facet.value, facet_type):
        return facet.value
    notes.append(f"facet {facet.name} does not match its specification: {facet.value}")
    return None

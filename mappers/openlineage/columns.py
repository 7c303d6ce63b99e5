"""Column lineage: facet versions 1-0 to 1-2 and explicit entries, as one flat list of elements."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from mappers.canonical.facts import ColumnLineage, LineageSet
from mappers.canonical.identity import digest, joined_id
from mappers.memory import Memory
from mappers.openlineage.facets import (
    ColumnLineageFacet,
    InputField,
    LineageField,
    LineageSource,
    OutputField,
    Transformation,
)
from mappers.openlineage.listener import METADATA_COLUMNS
from mappers.openlineage.parts import FacetPart, understand
from mappers.openlineage.statements import Statements, name_dataset

_WHOLE_DATASET = frozenset({"JOIN", "FILTER", "SORT", "GROUP_BY"})
_LEGACY = {
    "IDENTITY": Transformation("DIRECT", "IDENTITY"),
    "MASKED": Transformation("DIRECT", "TRANSFORMATION", masking=True),
}


class Element(NamedTuple):
    """A source column, what is done to it, and the target column it reaches (empty: all of them)."""

    namespace: str
    name: str
    source_field: str
    target_field: str
    type: str
    subtype: str
    masking: bool
    description: str


class Said(NamedTuple):
    """The elements of one facet, and a key that two facets share only when they say the same."""

    key: bytes
    elements: tuple[Element, ...]


NOTHING_SAID = Said(b"", ())
_REMEMBERED_ELEMENTS = 1 << 16
_elements: Memory[bytes, Said] = Memory(_REMEMBERED_ELEMENTS)


def facet_elements(part: FacetPart, notes: list[str]) -> Said | None:
    """List what a columnLineage facet says; None when it cannot be read, nothing when it is deleted."""
    if part.body is None:
        return NOTHING_SAID
    facet = understand(part, ColumnLineageFacet, notes)
    if facet is None:
        return None
    known = _elements.get(part.digest)
    if known is not None:
        return known
    read = _read_elements(facet)
    return _elements.keep(part.digest, read, 1 + len(read.elements))


def _read_elements(facet: ColumnLineageFacet) -> Said:
    """Say what affects every output column once for all of them."""
    fields = facet.fields or {}
    elements = {e for name, output in fields.items() for e in _field_elements(name, output)}
    elements.update(e for item in facet.dataset or () for e in _input_elements("", item, item.transformations))
    return said(_lift(elements, set(fields)))


def said(elements: Iterable[Element]) -> Said:
    """Put elements in the one order, once each."""
    unique = tuple(sorted(set(elements)))
    return Said(digest(msgspec.json.encode(unique)), unique)


def _field_elements(target: str, output: OutputField) -> Iterator[Element]:
    legacy = _legacy_transformations(output)
    for item in output.inputFields:
        yield from _input_elements(target, item, item.transformations or legacy)


def _legacy_transformations(output: OutputField) -> list[Transformation]:
    known = _LEGACY.get((output.transformationType or "").upper(), Transformation("DIRECT"))
    return [Transformation(known.type, known.subtype, output.transformationDescription, known.masking)]


def _input_elements(target: str, item: InputField, transformations: list[Transformation] | None) -> Iterator[Element]:
    for done in transformations or [Transformation("DIRECT" if target else "INDIRECT")]:
        yield _element(item.namespace, item.name, item.field, target, done)


def _element(namespace: str, name: str, field: str, target: str, done: Transformation) -> Element:
    return Element(
        namespace, name, field, target, done.type.upper(), done.subtype.upper(), bool(done.masking),
        done.description or "",
    )  # fmt: skip


def _lift(elements: set[Element], targets: set[str]) -> set[Element]:
    """Say INDIRECT influences on every output column once for the dataset: both spellings become one."""
    reach: dict[Element, set[str]] = {}
    for element in elements:
        if element.type == "INDIRECT" and element.target_field:
            reach.setdefault(element._replace(target_field=""), set()).add(element.target_field)
    lifted = {
        whole
        for whole, reached in reach.items()
        if reached == targets and (len(targets) > 1 or whole.subtype in _WHOLE_DATASET)
    }
    return {e for e in elements if e._replace(target_field="") not in lifted} | lifted


def source_elements(fields: dict[str, LineageField], inputs: Iterable[LineageSource]) -> Said:
    """List what an explicit lineage entry says about columns."""
    return said(
        _element(source.namespace, source.name, source.field or "", target, done)
        for target, field in [("", None), *fields.items()]
        for source in (field.inputs if field else inputs)
        if source.type.upper() == "DATASET" and source.namespace and source.name
        if target or source.field
        for done in source.transformations or [Transformation("DIRECT" if target else "INDIRECT")]
    )


class _Identified(NamedTuple):
    """Elements with their ids for one job and target: the same in every run."""

    rows: tuple[tuple[bytes, bytes, Element], ...]
    set_id: bytes
    members: bytes


_identified: Memory[tuple[str, bytes, bytes, bytes], _Identified] = Memory(_REMEMBERED_ELEMENTS)


def _identify(org: str, what: Said, job: bytes, target: bytes) -> _Identified:
    key = (org, what.key, job, target)
    known = _identified.get(key)
    if known is None:
        rows = tuple(_identify_element(org, element, job, target) for element in what.elements
                     if element.source_field not in METADATA_COLUMNS)  # fmt: skip
        members = b"".join(sorted({row[0] for row in rows}))
        known = _Identified(rows, digest(job + target + members), members)
        _identified.keep(key, known, 1 + len(rows))
    return known


def _identify_element(org: str, element: Element, job: bytes, target: bytes) -> tuple[bytes, bytes, Element]:
    source = name_dataset(org, element.namespace, element.name).id
    what = "\0".join(
        (element.source_field, element.target_field, element.type, element.subtype, str(element.masking))
    )
    return joined_id(b"column", job, source, target, what.encode()), source, element


def state_columns(say: Statements, what: Said, job: bytes, run: bytes, target: bytes) -> bytes:
    """State the elements of one facet about a target; gives the id of their set."""
    known = _identify(say.org, what, job, target)
    say.rows.extend(
        ColumnLineage(
            say.org, target, source, lineage_id, job, e.source_field, e.target_field, e.type, e.subtype,
            e.masking, say.micros, run, e.description,
        )
        for lineage_id, source, e in known.rows
    )  # fmt: skip
    say.rows.append(LineageSet(say.org, known.set_id, known.members))
    return known.set_id


def source_datasets(what: Said) -> list[tuple[str, str]]:
    """Name each source dataset of the elements once."""
    return sorted({(element.namespace, element.name) for element in what.elements})

"""Maps dataset registration requests and reviews."""

import msgspec

from mappers.canonical.identity import composite_id
from mappers.canonical.rank import Rank
from mappers.canonical.rows import DatasetRegistrationRow
from mappers.canonical_json import canonical_json
from mappers.openlineage import facets as facet_types
from mappers.openlineage.facet_parser import ParsedDataset, ParsedFacet, facet_value
from mappers.openlineage.names import CanonicalEntity
from mappers.openlineage.row_builder import RowBuilder
from mappers.timestamps import parse_timestamp

_FACET = "lineageBridge_registration"
_PENDING = "PENDING"
_REVIEW_STATUSES = frozenset({"APPROVED", "REJECTED"})


def map_registration(builder: RowBuilder, dataset: ParsedDataset, entity: CanonicalEntity) -> None:
    """Map a request or its review.

    A review outranks the request even if it is older, so sending the request again does not reopen it.
    """
    facet = dataset.facets.get(_FACET)
    registration = facet_value(facet, facet_types.RegistrationFacet, builder.notes)
    if registration is None or facet is None:
        return
    status = registration.status.upper()
    if status != _PENDING and status not in _REVIEW_STATUSES:
        builder.notes.append(f"{_FACET} has an unknown status {registration.status[:32]!r}: ignored")
        return
    try:
        submitted_at, _ = parse_timestamp(registration.submittedAt)
    except ValueError:
        builder.notes.append(f"{_FACET}.submittedAt is not a time: ignored")
        return
    rank = Rank.STEWARD if status in _REVIEW_STATUSES else Rank.OUTPUT
    row = DatasetRegistrationRow(
        org_id=builder.org,
        reg_id=composite_id(b"registration", entity.id, f"{submitted_at}\0{registration.submittedBy}".encode()),
        dataset_id=entity.id,
        submitted_by=registration.submittedBy,
        submitted_at=submitted_at,
        review_order=builder.assertion_order(rank, facet.digest),
        status=status,
        reviewer=registration.reviewer,
        review_comment=registration.comment,
    )
    if status == _PENDING:
        row = row._replace(request_order=builder.assertion_order(0, facet.digest), request_json=_request_json(facet))
    builder.rows.append(row)


def _request_json(facet: ParsedFacet) -> str:
    """Return the request without the members that are stored in columns."""
    body = msgspec.json.decode(facet.body or "{}")
    column_fields = facet_types.RegistrationFacet.__struct_fields__
    return canonical_json({key: value for key, value in body.items() if key not in column_fields}).decode()

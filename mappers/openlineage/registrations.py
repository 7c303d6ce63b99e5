"""Requests to register a dataset, and the decisions about them."""

import msgspec

from mappers.canonical.facts import DatasetRegistration
from mappers.canonical.identity import joined_id
from mappers.canonical.order import Rank
from mappers.openlineage import facets as f
from mappers.openlineage.clock_time import parse_time
from mappers.openlineage.parts import DatasetPart, FacetPart, canonical_json, understand
from mappers.openlineage.statements import Named, Statements

_FACET = "lineageBridge_registration"
_PENDING = "PENDING"
_DECIDED = frozenset({"APPROVED", "REJECTED"})


def state_registration(say: Statements, part: DatasetPart, named: Named) -> None:
    """State a request or its review.

    A decision beats the request whatever their times: sending the request again does not open it again.
    """
    facet = part.facets.get(_FACET)
    found = understand(facet, f.Registration, say.notes)
    if found is None or facet is None:
        return
    status = found.status.upper()
    if status != _PENDING and status not in _DECIDED:
        say.notes.append(f"{_FACET} has the unknown status {found.status[:32]!r}: ignored")
        return
    try:
        submitted_at, _ = parse_time(found.submittedAt)
    except ValueError:
        say.notes.append(f"{_FACET}.submittedAt is no time: ignored")
        return
    rank = Rank.STEWARD if status in _DECIDED else Rank.OUTPUT
    row = DatasetRegistration(
        say.org,
        joined_id(b"registration", named.id, f"{submitted_at}\0{found.submittedBy}".encode()),
        named.id,
        found.submittedBy,
        submitted_at,
        say.order(rank, facet.digest),
        status,
        found.reviewer,
        found.comment,
    )
    if status == _PENDING:
        row = row._replace(request_order=say.order(0, facet.digest), request_json=_request(facet))
    say.rows.append(row)


def _request(facet: FacetPart) -> str:
    """Give what is asked for, without what the columns hold."""
    body = msgspec.json.decode(facet.body or "{}")
    own = f.Registration.__struct_fields__
    return canonical_json({key: value for key, value in body.items() if key not in own}).decode()

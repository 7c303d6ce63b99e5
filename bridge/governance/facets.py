"""Combines the assets of a dataset into facets, and selects those that changed."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import structlog

from bridge.governance.asset import Asset, contract_facet, expectations_facet, governance_facet
from bridge.governance.matcher import QualifiedName
from bridge.store.governance_facets import CONTRACT, EXPECTATIONS, GOVERNANCE, SLA
from mappers.governance.facet import COLUMNS, CUSTOM, FILE, SETS, asset_content, build_facet, facet_fields
from mappers.governance.merge import merge
from mappers.timestamps import MAX_MICROS, format_timestamp

Facets = dict[str, dict[str, Any]]


def combine_assets(assets: Iterable[Asset]) -> Facets:
    """Give the facets of a dataset: of patterns first, and of the asset that names it last, whose word counts.

    What can be several unites.
    """
    facets: Facets = {}
    for asset in sorted(assets, key=lambda one: (not one.is_pattern, len(one.namespace + one.name), one.name)):
        facets[GOVERNANCE] = _merge_governance(facets.get(GOVERNANCE, {}), governance_facet(asset))
        if contract := contract_facet(asset):
            facets[CONTRACT] = contract
        if (expected := expectations_facet(asset)) is not None:
            known = {one["name"]: one for one in facets.get(EXPECTATIONS, {}).get("checks", ())}
            known |= {one["name"]: one for one in expected["checks"]}
            facets[EXPECTATIONS] = {"checks": [known[name] for name in sorted(known)]}
        if asset.sla:
            facets[SLA] = facets.get(SLA, {}) | asset.sla.model_dump(exclude_none=True)
    return facets


def _merge_governance(before: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    facet = {**before, **more}
    for key in SETS & before.keys() & more.keys():
        facet[key] = list(dict.fromkeys((*before[key], *more[key])))
    if CUSTOM in before and CUSTOM in more:
        facet[CUSTOM] = {**before[CUSTOM], **more[CUSTOM]}
    if COLUMNS in before and COLUMNS in more:
        columns = {one["name"]: one for one in before[COLUMNS]}
        columns |= {one["name"]: columns.get(one["name"], {}) | one for one in more[COLUMNS]}
        facet[COLUMNS] = list(columns.values())
    return facet


_log = structlog.get_logger()

#: All that assets say of datasets.
STEWARD_FACETS = (GOVERNANCE, CONTRACT, EXPECTATIONS, SLA)


def can_be_written_after(name: QualifiedName, last: int) -> bool:
    """Tell whether there is a time after the last word of a dataset: somebody may have spoken at the end of times."""
    if last < MAX_MICROS:
        return True
    _log.warning(
        "nothing can be said after what was said of a dataset", dataset=" ".join(name), at=format_timestamp(last)
    )
    return False


def changed_facets(facets: Facets, before: Facets, ours: Collection[str]) -> dict[str, dict[str, Any] | None]:
    """Give the facets that are to be sent; of one in which OpenMetadata changed something, that stays.

    What no asset says is taken back only where one said it: of promises and checks others may speak as well.
    """
    new: dict[str, dict[str, Any] | None] = {}
    for name in STEWARD_FACETS:
        said, known = facets.get(name), before.get(name)
        if said is None and name not in ours:
            continue
        if said == (asset_content(known) if known and name == GOVERNANCE else known):
            continue
        new[name] = _merge_with_imported(said, known) if said and known and FILE in known else said
    return new


def _merge_with_imported(said: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Bring what a file says now together with what OpenMetadata changed since it said otherwise; the file wins."""
    fields = merge(facet_fields(asset_content(known)), facet_fields(said), facet_fields(known), "local").fields
    facet = build_facet(fields, said)
    return facet if facet == said else {**facet, FILE: said}

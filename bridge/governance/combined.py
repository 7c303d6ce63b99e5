"""What all assets that are about a dataset say of it together."""

from collections.abc import Iterable, Mapping
from typing import Any

from bridge.governance.asset import Asset, contract_of, expectations_of, governance_of
from bridge.store.said import CONTRACT, EXPECTATIONS, GOVERNANCE, SLA
from mappers.governance.facet import COLUMNS, CUSTOM, SETS

Facets = dict[str, dict[str, Any]]


def facets_of(assets: Iterable[Asset]) -> Facets:
    """Give the facets of a dataset: of patterns first, and of the asset that names it last, whose word counts.

    What can be several unites.
    """
    facets: Facets = {}
    for asset in sorted(assets, key=lambda one: (not one.is_pattern, len(one.namespace + one.name), one.name)):
        facets[GOVERNANCE] = _united(facets.get(GOVERNANCE, {}), governance_of(asset))
        if contract := contract_of(asset):
            facets[CONTRACT] = contract
        if (expected := expectations_of(asset)) is not None:
            known = {one["name"]: one for one in facets.get(EXPECTATIONS, {}).get("checks", ())}
            known |= {one["name"]: one for one in expected["checks"]}
            facets[EXPECTATIONS] = {"checks": [known[name] for name in sorted(known)]}
        if asset.sla:
            facets[SLA] = facets.get(SLA, {}) | asset.sla.model_dump(exclude_none=True)
    return facets


def _united(before: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
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

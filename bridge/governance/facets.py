"""Combines the assets of a dataset into facets, and selects the facets that changed."""

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
    """Combine the assets of a dataset: patterns first, then the asset with the exact name.

    Later assets override scalar values; sets are merged.
    """
    facets: Facets = {}
    for asset in sorted(assets, key=_precedence):
        facets[GOVERNANCE] = _merge_governance(facets.get(GOVERNANCE, {}), governance_facet(asset))
        if contract := contract_facet(asset):
            facets[CONTRACT] = contract
        if (expected := expectations_facet(asset)) is not None:
            checks = {check["name"]: check for check in facets.get(EXPECTATIONS, {}).get("checks", ())}
            checks |= {check["name"]: check for check in expected["checks"]}
            facets[EXPECTATIONS] = {"checks": [checks[name] for name in sorted(checks)]}
        if asset.sla:
            facets[SLA] = facets.get(SLA, {}) | asset.sla.model_dump(exclude_none=True)
    return facets


def _precedence(asset: Asset) -> tuple[bool, int, str]:
    return not asset.is_pattern, len(asset.namespace + asset.name), asset.name


def _merge_governance(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two facets. Sets, custom properties and columns are merged, other members are replaced."""
    facet = {**base, **override}
    for key in SETS & base.keys() & override.keys():
        facet[key] = list(dict.fromkeys((*base[key], *override[key])))
    if CUSTOM in base and CUSTOM in override:
        facet[CUSTOM] = {**base[CUSTOM], **override[CUSTOM]}
    if COLUMNS in base and COLUMNS in override:
        columns = {column["name"]: column for column in base[COLUMNS]}
        for column in override[COLUMNS]:
            columns[column["name"]] = columns.get(column["name"], {}) | column
        facet[COLUMNS] = list(columns.values())
    return facet


_log = structlog.get_logger()

#: Facets that asset files produce.
STEWARD_FACETS = (GOVERNANCE, CONTRACT, EXPECTATIONS, SLA)


def can_write_later_event(name: QualifiedName, latest_micros: int) -> bool:
    """Return whether an event can be later than the dataset's latest event; logs a warning if not."""
    if latest_micros < MAX_MICROS:
        return True
    _log.warning(
        "cannot update the dataset: its latest event carries the maximum timestamp",
        dataset=" ".join(name),
        at=format_timestamp(latest_micros),
    )
    return False


def changed_facets(
    facets: Facets, stored_facets: Facets, previous_names: Collection[str]
) -> dict[str, dict[str, Any] | None]:
    """Return the facets to write. Fields that were imported from OpenMetadata are kept.

    A facet that no asset defines is removed only if an asset file set it before, because contracts and checks may
    have other sources.
    """
    changes: dict[str, dict[str, Any] | None] = {}
    for name in STEWARD_FACETS:
        desired_facet = facets.get(name)
        stored_facet = stored_facets.get(name)
        if desired_facet is None and name not in previous_names:
            continue
        stored_file_content = asset_content(stored_facet) if stored_facet and name == GOVERNANCE else stored_facet
        if desired_facet == stored_file_content:
            continue
        if desired_facet and stored_facet and FILE in stored_facet:
            changes[name] = _merge_with_imported(desired_facet, stored_facet)
        else:
            changes[name] = desired_facet
    return changes


def _merge_with_imported(desired_facet: dict[str, Any], stored_facet: dict[str, Any]) -> dict[str, Any]:
    """Merge the file with changes imported from OpenMetadata. The file wins."""
    fields = merge(
        facet_fields(asset_content(stored_facet)), facet_fields(desired_facet), facet_fields(stored_facet), "local"
    ).fields
    facet = build_facet(fields, desired_facet)
    return facet if facet == desired_facet else {**facet, FILE: desired_facet}

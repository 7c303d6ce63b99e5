"""Handlers of assets of domains and data products."""

from tests.standins.openmetadata.create_shapes import REFERENCE
from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.errors import ApiError, not_found
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.governance_kinds import PRODUCT
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.lists import check_limit
from tests.standins.openmetadata.references import check_products
from tests.standins.openmetadata.shapes import Shape, boolean, list_of

_REQUEST = Shape({"assets": list_of(REFERENCE), "dryRun": boolean})


def _holder(call: Call, kind: Kind) -> Entity:
    found = call.store.find(kind, call.args["fqn"])
    if found is None or found.deleted:
        raise not_found(kind.name, call.args["fqn"])
    return found


def _relation(kind: Kind) -> str:
    return "dataProducts" if kind is PRODUCT else "domains"


def add(call: Call, kind: Kind) -> ApiResponse:
    """Add assets to a domain or data product, without creating versions of them."""
    return _change_assets(call, kind, removing=False)


def remove(call: Call, kind: Kind) -> ApiResponse:
    return _change_assets(call, kind, removing=True)


def _change_assets(call: Call, kind: Kind, removing: bool) -> ApiResponse:
    holder, request = _holder(call, kind), call.read(_REQUEST)
    passed: list[Data] = []
    failed: list[Data] = []
    for reference in request.get("assets", []):
        try:
            asset = _asset(call, reference["id"])
            _set(asset, kind, holder, removing)
        except ApiError as error:
            failed.append({"request": reference, "message": error.message, "hasSideEffects": False})
        else:
            passed.append({"request": asset.reference(), "hasSideEffects": False})
    body = {
        "dryRun": request.get("dryRun", False),
        "status": "failure" if failed and not passed else "partialSuccess" if failed else "success",
        "numberOfRowsProcessed": len(passed) + len(failed),
        "numberOfRowsPassed": len(passed),
        "numberOfRowsFailed": len(failed),
        "successRequest": passed,
    }
    # Domains omit an empty failedRequest.
    failures = {"failedRequest": failed} if failed or kind is PRODUCT else {}
    return ApiResponse(400 if failed and not passed else 200, body | failures)


def _asset(call: Call, key: str) -> Entity:
    found = call.store.by_id.get(key)
    if found is None:
        raise ApiError(400, f"Internal error: Asset entity not found for ID: {key}")
    return found


def _set(asset: Entity, kind: Kind, holder: Entity, removing: bool) -> None:
    name = _relation(kind)
    current: list[Entity] = asset.data.get(name) or []
    others = [entity for entity in current if entity is not holder] if removing or kind is PRODUCT else []
    updated = others if removing else [*others, holder]
    if kind is PRODUCT:
        check_products(updated, asset.data.get("domains") or [])
    asset.data = {**asset.data, name: updated}


def read(call: Call, kind: Kind) -> ApiResponse:
    holder, limit = _holder(call, kind), check_limit(call.number("limit", 10))
    start = call.number("offset", 0)
    found = [entity for entity in call.store.assets() if holder in (entity.data.get(_relation(kind)) or ())]
    rows = [entity.reference() for entity in found[start : start + limit]]
    return ApiResponse(body={"data": rows, "paging": {"total": len(found)}})

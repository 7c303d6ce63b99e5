"""Assets of domains and data products: added and removed in one call, and listed."""

from tests.standins.openmetadata.create_shapes import REFERENCE
from tests.standins.openmetadata.entity import Data, Entity
from tests.standins.openmetadata.errors import ApiError, not_found
from tests.standins.openmetadata.exchange import ApiResponse, Call
from tests.standins.openmetadata.governance_kinds import PRODUCT
from tests.standins.openmetadata.kinds import Kind
from tests.standins.openmetadata.lists import checked_limit
from tests.standins.openmetadata.references import check_products
from tests.standins.openmetadata.shapes import Shape, flag, listing

_REQUEST = Shape({"assets": listing(REFERENCE), "dryRun": flag})


def _holder(call: Call, kind: Kind) -> Entity:
    found = call.store.find(kind, call.args["fqn"])
    if found is None or found.deleted:
        raise not_found(kind.name, call.args["fqn"])
    return found


def _relation(kind: Kind) -> str:
    return "dataProducts" if kind is PRODUCT else "domains"


def add(call: Call, kind: Kind) -> ApiResponse:
    """Let assets belong to a domain or a data product; no version of them is made."""
    return _changed(call, kind, gone=False)


def remove(call: Call, kind: Kind) -> ApiResponse:
    return _changed(call, kind, gone=True)


def _changed(call: Call, kind: Kind, gone: bool) -> ApiResponse:
    holder, request = _holder(call, kind), call.read(_REQUEST)
    good: list[Data] = []
    bad: list[Data] = []
    for reference in request.get("assets", []):
        try:
            asset = _asset(call, reference["id"])
            _set(asset, kind, holder, gone)
        except ApiError as error:
            bad.append({"request": reference, "message": error.message, "hasSideEffects": False})
        else:
            good.append({"request": asset.reference(), "hasSideEffects": False})
    body = {
        "dryRun": request.get("dryRun", False),
        "status": "failure" if bad and not good else "partialSuccess" if bad else "success",
        "numberOfRowsProcessed": len(good) + len(bad),
        "numberOfRowsPassed": len(good),
        "numberOfRowsFailed": len(bad),
        "successRequest": good,
    }
    # A domain does not speak of failures where there are none.
    told = {"failedRequest": bad} if bad or kind is PRODUCT else {}
    return ApiResponse(400 if bad and not good else 200, body | told)


def _asset(call: Call, key: str) -> Entity:
    found = call.store.by_id.get(key)
    if found is None:
        raise ApiError(400, f"Internal error: Asset entity not found for ID: {key}")
    return found


def _set(asset: Entity, kind: Kind, holder: Entity, gone: bool) -> None:
    name = _relation(kind)
    there: list[Entity] = asset.data.get(name) or []
    kept = [one for one in there if one is not holder] if gone or kind is PRODUCT else []
    wanted = kept if gone else [*kept, holder]
    if kind is PRODUCT:
        check_products(wanted, asset.data.get("domains") or [])
    asset.data = {**asset.data, name: wanted}


def read(call: Call, kind: Kind) -> ApiResponse:
    holder, limit = _holder(call, kind), checked_limit(call.number("limit", 10))
    start = call.number("offset", 0)
    found = [one for one in call.store.assets() if holder in (one.data.get(_relation(kind)) or ())]
    rows = [one.reference() for one in found[start : start + limit]]
    return ApiResponse(body={"data": rows, "paging": {"total": len(found)}})

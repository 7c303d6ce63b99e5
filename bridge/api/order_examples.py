"""An example of each order, as the API shows it; done in this order, one after the other, all of them can be done."""

from typing import Any

from bridge.orders.definitions import Describe, Register
from bridge.orders.order import Order
from bridge.orders.orders import Publish, RollBack
from bridge.orders.version_orders import Discard, Invalidate, PinVersions, ResolveAll, Unpin

_DAILY, _WEEKLY = ({"namespace": "s3://lake", "name": f"sales/{name}"} for name in ("daily", "weekly"))
_WHO = {"by": "ann", "why": "the rates of January are right"}

EXAMPLES: dict[type[Order[Any]], dict[str, Any]] = {
    Publish: {
        "datasets": [
            _DAILY | {"version": "v2", "expected": "v1"},
            _WEEKLY | {"version": "latest"},
        ],
        **_WHO,
    },
    ResolveAll: {"datasets": [_DAILY, _WEEKLY | {"pin": "latest"}]},
    RollBack: {"datasets": [_DAILY | {"expected": "v2"}], "by": "bob", "why": "rows are missing"},
    PinVersions: {
        "pin": "january",
        "until": "2099-12-31T00:00:00Z",
        "datasets": [_DAILY | {"version": "v1"}, _WEEKLY | {"version": "v2"}],
        **_WHO,
    },
    Unpin: {"pin": "january", **_WEEKLY},
    Invalidate: _DAILY | {"version": "v2", "reason": "rows are missing", "by": "bob"},
    Discard: _DAILY | {"versions": ["v1", "v2"], "reason": "older than 90 days", "by": "bob"},
    Describe: _DAILY | {"version": "v1", "metadata": {"reviewed": {"by": "ann"}}, "checksum": "sha256:9f2c"},
    Register: {
        "namespace": "lineage-bridge",
        "name": "sales.daily",
        "definition": {"outputs": [{"dataset": "sales/daily"}]},
        "by": "ann",
    },
}

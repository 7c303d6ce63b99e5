"""Pushes access policies of assets, one policy per role."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bridge.sync.canonical.governance import read_all_access
from bridge.sync.openmetadata.context import OpenMetadataContext
from bridge.sync.sync_item import ABANDONED, Completed, Failure, Outcome, RemoteReference, SyncItem, fingerprint
from bridge.sync.target import BatchResult
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError, PermanentError
from mappers.openmetadata.access_policies import access_policies, policy_name

OFF = "openmetadata.sync.sync_governance_metadata is off"
_POLICIES, _ROLES = "policies", "roles"
#: The roles that have a policy of ours.
_MADE = "roles"


class AccessPolicyPusher:
    """Pushes policies of roles. Not for several threads at once."""

    def __init__(self, at: OpenMetadataContext) -> None:
        self._at = at

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        """Let roles have the policies that assets give them."""
        if not self._at.rules.sync_governance_metadata:
            return BatchResult([item.complete(Outcome.OFF, OFF) for item in items])
        return BatchResult([self._one(item) for item in items])

    def _one(self, item: SyncItem) -> Completed | Failure:
        facets = read_all_access(self._at.db, self._at.org)
        off = frozenset(str(one["accessTag"]) for one in facets if _is_off(one) and "accessTag" in one)
        wanted = access_policies([one for one in facets if not _is_off(one)], self._at.rules.words.access)
        made: dict[str, str] = dict(item.record.get(_MADE, {}))
        mark = fingerprint([wanted, sorted(off)])
        if not wanted and not made:
            return item.complete(Outcome.UNWANTED, "no asset has access policies")
        if item.fingerprint == mark and item.outcome in (*ABANDONED, Outcome.PUSHED, Outcome.UNCHANGED):
            return item.complete(
                Outcome(item.outcome) if item.outcome in ABANDONED else Outcome.UNCHANGED, item.reason
            )
        problems: list[str] = []
        if begun := wanted.keys() - made.keys():  # whoever dies now leaves nobody with rights that nothing takes back
            made |= dict.fromkeys(begun, "")
            self._at.items.record_intent([(item, {**item.record, _MADE: made})])
        try:
            for role, policy in wanted.items():
                said = fingerprint(policy).hex()
                if item.fingerprint is None or made.get(role) != said:
                    refused = self._tried(role, policy, off)
                    problems += refused
                    made[role] = "" if refused else said
            for role in sorted(made.keys() - wanted.keys()):
                problems += self._taken_back(role, off)
                made[role] = ""
                if not off:  # else rules may be left of it
                    del made[role]
        except LineageBridgeError as error:
            return Failure(item, self._at.failed(error), None, mark)
        outcome = Outcome.UNRESOLVED if problems else Outcome.PUSHED
        remote = RemoteReference("policy", "access", "access policies")
        return Completed(item, outcome, "; ".join(problems) or None, mark, remote, created_by_us=True, record={_MADE: made})

    def _tried(self, role: str, policy: JsonObject, off: Collection[str]) -> list[str]:
        """Let a role have a policy; why not, if the server does not take it."""
        try:
            there = self._at.client.get(_ROLES, role, _POLICIES)
            if there is None and self._at.rules.create != "all":
                return [f"the server has no role {role}, and openmetadata.create does not allow it"]
            kept = self._rules(self._policy(role), off) if off else []
            made = self._at.client.put(_POLICIES, policy | {"rules": [*policy["rules"], *kept]}).entity
            if there is None:
                body = {
                    "name": role,
                    "description": f"Named by assets of lineage-bridge: {role}.",
                    "policies": [policy["name"]],
                }
                self._at.client.put(_ROLES, body)
            elif all(one["id"] != made["id"] for one in there.get(_POLICIES) or ()):
                add = [{"op": "add", "path": f"/{_POLICIES}/-", "value": {"id": str(made["id"]), "type": "policy"}}]
                self._at.client.patch(_ROLES, str(there["id"]), add, there["version"])
        except PermanentError as error:
            return [f"{role}: {error}"]
        return []

    def _taken_back(self, role: str, off: Collection[str]) -> list[str]:
        """Delete the policy of a role that no asset names any more; the role stays, and so do rules left alone."""
        try:
            there = self._policy(role)
            if there is not None and (kept := self._rules(there, off)):
                body = {key: there[key] for key in ("name", "description") if key in there}
                self._at.client.put(_POLICIES, body | {"rules": kept})
            elif there is not None:
                self._at.client.delete(_POLICIES, str(there["id"]))
        except PermanentError as error:
            return [f"{role}: {error}"]
        return []

    def _policy(self, role: str) -> JsonObject | None:
        return self._at.client.get(_POLICIES, policy_name(role))

    def _rules(self, policy: JsonObject | None, off: Collection[str]) -> list[JsonObject]:
        """Give the rules of assets that ask for OpenMetadata to be left alone."""
        rules: list[JsonObject] = (policy or {}).get("rules") or []
        return [rule for rule in rules if rule["name"] in off]


def _is_off(facet: Mapping[str, Any]) -> bool:
    return facet.get("syncEnabled") is False

"""Pushes access policies of assets, one policy per role."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from bridge.sync.canonical.governance import read_access_facets
from bridge.sync.openmetadata.context import OpenMetadataContext
from bridge.sync.sync_item import Completed, Failure, ItemRecord, Outcome, RemoteReference, SyncItem, fingerprint
from bridge.sync.target import BatchResult
from mappers.canonical_json import JsonObject
from mappers.errors import LineageBridgeError, PermanentError
from mappers.openmetadata.access_policies import access_policies, policy_name

_POLICIES, _ROLES = "policies", "roles"


class AccessRecord(ItemRecord, frozen=True):
    """Fingerprint of the policy that was pushed for each role; empty if the role has an unknown policy."""

    fingerprints: dict[str, str] = msgspec.field(default_factory=dict, name="roles")


class AccessPolicyPusher:
    """Pushes one policy per role. Not thread-safe."""

    def __init__(self, ctx: OpenMetadataContext) -> None:
        self._ctx = ctx

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        """Bring the policies of all roles to the desired state."""
        return BatchResult([self._push_all_roles(item) for item in items])

    def _push_all_roles(self, item: SyncItem) -> Completed | Failure:
        facets = read_access_facets(self._ctx.db, self._ctx.org)
        disabled_tags = frozenset(
            str(facet["accessTag"]) for facet in facets if _is_disabled(facet) and "accessTag" in facet
        )
        desired_policies = access_policies(
            [facet for facet in facets if not _is_disabled(facet)], self._ctx.options.vocabulary.access
        )
        pushed_fingerprints: dict[str, str] = dict(item.read_record(AccessRecord).fingerprints)
        content_fingerprint = fingerprint([desired_policies, sorted(disabled_tags)])
        if not desired_policies and not pushed_fingerprints:
            return item.complete(Outcome.UNWANTED, "no asset has access policies")
        if unchanged := item.complete_if_unchanged(content_fingerprint):
            return unchanged
        problems: list[str] = []
        new_roles = desired_policies.keys() - pushed_fingerprints.keys()
        if new_roles:  # granted permissions must be known after a crash
            pushed_fingerprints |= dict.fromkeys(new_roles, "")
            self._ctx.items.record_intent([(item, AccessRecord(pushed_fingerprints))])
        try:
            for role, policy in desired_policies.items():
                policy_fingerprint = fingerprint(policy).hex()
                if item.fingerprint is None or pushed_fingerprints.get(role) != policy_fingerprint:
                    push_problems = self._push_policy(role, policy, disabled_tags)
                    problems += push_problems
                    pushed_fingerprints[role] = "" if push_problems else policy_fingerprint
            for role in sorted(pushed_fingerprints.keys() - desired_policies.keys()):
                problems += self._delete_policy(role, disabled_tags)
                pushed_fingerprints[role] = ""
                if not disabled_tags:  # otherwise, rules of assets with disabled sync may remain
                    del pushed_fingerprints[role]
        except LineageBridgeError as error:
            return Failure(item, self._ctx.requests.record_failure(error), None, content_fingerprint)
        outcome = Outcome.UNRESOLVED if problems else Outcome.PUSHED
        remote = RemoteReference("policy", "access", "access policies")
        return Completed(
            item,
            outcome,
            "; ".join(problems) or None,
            content_fingerprint,
            remote,
            created_by_us=True,
            record=AccessRecord(pushed_fingerprints),
        )

    def _push_policy(self, role: str, policy: JsonObject, disabled_tags: Collection[str]) -> list[str]:
        """Push a policy and assign it to its role; return the problem if the server rejects the change."""
        try:
            existing_role = self._ctx.client.get(_ROLES, role, _POLICIES)
            if existing_role is None and self._ctx.options.create != "all":
                return [f"OpenMetadata has no role {role}, and openmetadata.create does not allow creating it"]
            retained_rules = _rules_of_tags(self._get_policy(role), disabled_tags) if disabled_tags else []
            pushed_policy = self._ctx.client.put(
                _POLICIES, policy | {"rules": [*policy["rules"], *retained_rules]}
            ).entity
            if existing_role is None:
                body = {
                    "name": role,
                    "description": f"Named by assets of lineage-bridge: {role}.",
                    "policies": [policy["name"]],
                }
                self._ctx.client.put(_ROLES, body)
                return []
            assigned_ids = {reference["id"] for reference in existing_role.get(_POLICIES) or ()}
            if pushed_policy["id"] not in assigned_ids:
                reference = {"id": str(pushed_policy["id"]), "type": "policy"}
                operations = [{"op": "add", "path": f"/{_POLICIES}/-", "value": reference}]
                self._ctx.client.patch(_ROLES, str(existing_role["id"]), operations, existing_role["version"])
        except PermanentError as error:
            return [f"{role}: {error}"]
        return []

    def _delete_policy(self, role: str, disabled_tags: Collection[str]) -> list[str]:
        """Delete the policy of a role that no asset names any more, but keep the role.

        The policy remains if it still contains rules of assets with disabled sync.
        """
        try:
            policy = self._get_policy(role)
            if policy is not None and (retained_rules := _rules_of_tags(policy, disabled_tags)):
                body = {key: policy[key] for key in ("name", "description") if key in policy}
                self._ctx.client.put(_POLICIES, body | {"rules": retained_rules})
            elif policy is not None:
                self._ctx.client.delete(_POLICIES, str(policy["id"]))
        except PermanentError as error:
            return [f"{role}: {error}"]
        return []

    def _get_policy(self, role: str) -> JsonObject | None:
        return self._ctx.client.get(_POLICIES, policy_name(role))


def _rules_of_tags(policy: JsonObject | None, access_tags: Collection[str]) -> list[JsonObject]:
    """Return rules of a policy that are named after one of these tags."""
    rules: list[JsonObject] = (policy or {}).get("rules") or []
    return [rule for rule in rules if rule["name"] in access_tags]


def _is_disabled(facet: Mapping[str, Any]) -> bool:
    return facet.get("syncEnabled") is False

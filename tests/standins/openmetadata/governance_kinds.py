"""Kinds of governance entities, and the kind of types."""

from typing import Any

from tests.standins.openmetadata import governance_shapes as shapes
from tests.standins.openmetadata.kinds import KINDS, Kind
from tests.standins.openmetadata.shapes import Shape


def _kind(name: str, path: str, shape: Shape, own: str, fields: str, **options: Any) -> Kind:
    all_fields = frozenset(f"owners tags domains {fields}".split())
    return Kind(name, path, shape, tracked=tuple(own.split()), fields=all_fields, bulk=False, asset=False, **options)


#: Entity types, which may have custom properties, and field types, the types of such properties.
TYPE = _kind(
    "type",
    "metadata/types",
    shapes.PROPERTY,
    "category nameSpace schema customProperties",
    "customProperties",
    on_demand=("customProperties",),
    status=None,
    soft=False,
)
_PROVIDED = {"provider": "user", "mutuallyExclusive": False}
CLASSIFICATION = _kind(
    "classification",
    "classifications",
    shapes.CLASSIFICATION,
    "provider disabled mutuallyExclusive autoClassificationConfig",
    "usageCount termCount reviewers",
    defaults={**_PROVIDED, "disabled": False},
    empty_on_create=(),
    references=("reviewers",),
    always_shown=("owners", "domains", "reviewers"),
    empty_on_replace=("owners", "reviewers"),
)
TAG = _kind(
    "tag",
    "tags",
    shapes.TAG,
    "style deprecated provider disabled mutuallyExclusive recognizers autoClassificationEnabled "
    "autoClassificationPriority associatedTags",
    "children usageCount reviewers",
    parent="classification",
    parent_kind="classification",
    defaults={
        **_PROVIDED,
        **dict.fromkeys(("deprecated", "disabled", "autoClassificationEnabled"), False),
        "recognizers": [],
        "autoClassificationPriority": 50,
    },
    references=("reviewers",),
    always_shown=("domains", "dataProducts", "owners", "reviewers"),
    empty_on_replace=("domains", "owners", "reviewers"),
)
GLOSSARY = _kind(
    "glossary",
    "glossaries",
    shapes.GLOSSARY,
    "provider mutuallyExclusive namespaces",
    "reviewers usageCount termCount extension votes",
    defaults={**_PROVIDED, "namespaces": []},
    empty_on_create=(),
    references=("reviewers",),
    always_shown=("owners", "tags", "domains", "reviewers", "votes"),
    empty_on_replace=("owners", "reviewers", "domains"),
)
TERM = _kind(
    "glossaryTerm",
    "glossaryTerms",
    shapes.TERM,
    "iri style synonyms references conceptMappings provider mutuallyExclusive",
    "children relatedTerms reviewers usageCount extension childrenCount votes",
    parent="glossary",
    parent_kind="glossary",
    defaults={**_PROVIDED, "synonyms": [], "references": [], "conceptMappings": []},
    empty_on_create=("reviewers", "owners", "domains"),
    references=("reviewers", "relatedTerms"),
    always_shown=("owners", "tags", "domains", "reviewers", "votes"),
    status="Approved",
)
DOMAIN = _kind(
    "domain",
    "domains",
    shapes.DOMAIN,
    "domainType style",
    "children experts parent followers extension",
    empty_on_create=(),
    references=("experts",),
    always_shown=("owners", "tags", "followers", "experts"),
    empty_on_replace=("owners", "experts"),
    soft=False,
)
PRODUCT = _kind(
    "dataProduct",
    "dataProducts",
    shapes.PRODUCT,
    "style dataProductType visibility portfolioPriority lifecycleStage",
    "experts reviewers extension followers",
    defaults={"lifecycleStage": "DEVELOPMENT", "visibility": "PRIVATE"},
    empty_on_create=("owners", "experts"),
    references=("experts", "reviewers"),
    always_shown=("owners", "tags", "followers", "domains", "experts", "reviewers"),
    soft=False,
)
TEAM = _kind(
    "team",
    "teams",
    shapes.TEAM,
    "teamType email externalId profile isJoinable",
    "users owns parents children policies defaultRoles profile childrenCount userCount",
    defaults={"isJoinable": True},
    references=("parents", "policies", "defaultRoles"),
    always_shown=("owners", "domains"),
    status=None,
)
USER = _kind(
    "user",
    "users",
    shapes.USER,
    "email externalId timezone profile isBot isAdmin allowImpersonation isEmailVerified personaPreferences",
    "teams roles profile follows owns personas defaultPersona",
    defaults={"isBot": False, "isAdmin": False, "allowImpersonation": False, "personaPreferences": []},
    empty_on_create=("domains", "inheritedPersonas"),
    references=("teams", "roles"),
    always_shown=("domains",),
    status=None,
)
ROLE = _kind(
    "role",
    "roles",
    shapes.ROLE,
    "provider allowDelete disabled",
    "policies teams users",
    defaults={"provider": "user"},
    empty_on_create=(),
    references=("policies",),
    always_shown=(),
    empty_on_replace=(),
    status=None,
)
POLICY = _kind(
    "policy",
    "policies",
    shapes.POLICY,
    "enabled rules provider allowDelete",
    "location teams roles",
    defaults={"enabled": True, "provider": "user"},
    empty_on_create=(),
    always_shown=("owners",),
    empty_on_replace=(),
    status=None,
)
#: Kinds that clients create and change.
GOVERNED = [CLASSIFICATION, TAG, GLOSSARY, TERM, DOMAIN, PRODUCT, TEAM, USER, ROLE, POLICY]
EVERY = [*KINDS, TYPE, *GOVERNED]
BY_NAME = {kind.name: kind for kind in EVERY}

"""The kinds of what governs entities: what they refer to, and what is said of their types."""

from typing import Any

from tests.standins.openmetadata import governance_shapes as shapes
from tests.standins.openmetadata.kinds import KINDS, Kind
from tests.standins.openmetadata.shapes import Shape


def _kind(name: str, path: str, shape: Shape, own: str, fields: str, **more: Any) -> Kind:
    asked = frozenset(f"owners tags domains {fields}".split())
    return Kind(name, path, shape, tracked=tuple(own.split()), fields=asked, bulk=False, asset=False, **more)


#: Types of entities, which may have custom properties, and types of fields, which such properties are of.
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
    created=(),
    references=("reviewers",),
    whole=("owners", "domains", "reviewers"),
    replaced=("owners", "reviewers"),
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
    whole=("domains", "dataProducts", "owners", "reviewers"),
    replaced=("domains", "owners", "reviewers"),
)
GLOSSARY = _kind(
    "glossary",
    "glossaries",
    shapes.GLOSSARY,
    "provider mutuallyExclusive namespaces",
    "reviewers usageCount termCount extension votes",
    defaults={**_PROVIDED, "namespaces": []},
    created=(),
    references=("reviewers",),
    whole=("owners", "tags", "domains", "reviewers", "votes"),
    replaced=("owners", "reviewers", "domains"),
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
    created=("reviewers", "owners", "domains"),
    references=("reviewers", "relatedTerms"),
    whole=("owners", "tags", "domains", "reviewers", "votes"),
    status="Approved",
)
DOMAIN = _kind(
    "domain",
    "domains",
    shapes.DOMAIN,
    "domainType style",
    "children experts parent followers extension",
    created=(),
    references=("experts",),
    whole=("owners", "tags", "followers", "experts"),
    replaced=("owners", "experts"),
    soft=False,
)
PRODUCT = _kind(
    "dataProduct",
    "dataProducts",
    shapes.PRODUCT,
    "style dataProductType visibility portfolioPriority lifecycleStage",
    "experts reviewers extension followers",
    defaults={"lifecycleStage": "DEVELOPMENT", "visibility": "PRIVATE"},
    created=("owners", "experts"),
    references=("experts", "reviewers"),
    whole=("owners", "tags", "followers", "domains", "experts", "reviewers"),
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
    whole=("owners", "domains"),
    status=None,
)
USER = _kind(
    "user",
    "users",
    shapes.USER,
    "email externalId timezone profile isBot isAdmin allowImpersonation isEmailVerified personaPreferences",
    "teams roles profile follows owns personas defaultPersona",
    defaults={"isBot": False, "isAdmin": False, "allowImpersonation": False, "personaPreferences": []},
    created=("domains", "inheritedPersonas"),
    references=("teams", "roles"),
    whole=("domains",),
    status=None,
)
ROLE = _kind(
    "role",
    "roles",
    shapes.ROLE,
    "provider allowDelete disabled",
    "policies teams users",
    defaults={"provider": "user"},
    created=(),
    references=("policies",),
    whole=(),
    replaced=(),
    status=None,
)
POLICY = _kind(
    "policy",
    "policies",
    shapes.POLICY,
    "enabled rules provider allowDelete",
    "location teams roles",
    defaults={"enabled": True, "provider": "user"},
    created=(),
    whole=("owners",),
    replaced=(),
    status=None,
)
#: Those that clients make and change as they do entities.
GOVERNED = [CLASSIFICATION, TAG, GLOSSARY, TERM, DOMAIN, PRODUCT, TEAM, USER, ROLE, POLICY]
EVERY = [*KINDS, TYPE, *GOVERNED]
BY_NAME = {kind.name: kind for kind in EVERY}

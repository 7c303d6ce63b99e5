"""The shapes of the requests about what governs entities."""

from tests.standins.openmetadata import enums
from tests.standins.openmetadata.create_shapes import LABEL, REFERENCE
from tests.standins.openmetadata.shapes import (
    Reader,
    Shape,
    anything,
    choice,
    flag,
    listing,
    mapping,
    matching,
    named,
    sized,
    text,
    uuid,
    whole,
)

_PROPERTY_NAME = matching("^[A-Za-z0-9][A-Za-z0-9 _\\-.,;%#@!'(){}\\[\\]|=+?`]*$")
_EMAIL = matching("^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@\\S+$")
_NAMES = listing(sized(1, 3072))
_IDS = listing(uuid)
_HEAD: dict[str, Reader] = {"name": named(256), "displayName": text, "description": text}
_PEOPLE: dict[str, Reader] = {"owners": listing(REFERENCE), "reviewers": listing(REFERENCE), "domains": _NAMES}
_PROVIDER = choice("system", "user", "automation")
_STYLE = Shape({"color": text, "iconURL": text, "coverImage": anything})

PROPERTY = Shape(
    {
        "name": _PROPERTY_NAME,
        "displayName": text,
        "description": text,
        "propertyType": REFERENCE,
        "customPropertyConfig": Shape({"config": anything}),
    },
    required="name description propertyType",
)
CLASSIFICATION = Shape(
    {**_HEAD, **_PEOPLE, "provider": _PROVIDER, "mutuallyExclusive": flag, "autoClassificationConfig": mapping},
    required="name description",
)
TAG = Shape(
    {
        **_HEAD,
        **_PEOPLE,
        **dict.fromkeys(("classification", "parent"), sized(1, 3072)),
        "style": _STYLE,
        "associatedTags": listing(text),
        "provider": _PROVIDER,
        "mutuallyExclusive": flag,
        "recognizers": listing(mapping),
        "autoClassificationEnabled": flag,
        "autoClassificationPriority": whole,
    },
    required="name description",
)
_WORDS: dict[str, Reader] = {
    **_HEAD,
    **_PEOPLE,
    "tags": listing(LABEL),
    "provider": _PROVIDER,
    "mutuallyExclusive": flag,
    "extension": mapping,
}
GLOSSARY = Shape(_WORDS, required="name description")
TERM = Shape(
    {
        **_WORDS,
        **dict.fromkeys(("glossary", "parent"), sized(1, 3072)),
        "iri": text,
        "style": _STYLE,
        "synonyms": listing(named(256)),
        "relatedTerms": _NAMES,
        "references": listing(Shape({"name": text, "endpoint": text})),
        "conceptMappings": listing(mapping),
    },
    required="name description glossary",
)
_BUSINESS: dict[str, Reader] = {
    **_HEAD,
    "fullyQualifiedName": text,
    "style": _STYLE,
    "owners": listing(REFERENCE),
    "experts": listing(text),
    "tags": listing(LABEL),
    "extension": mapping,
}
DOMAIN = Shape(
    {**_BUSINESS, "domainType": choice("Source-aligned", "Consumer-aligned", "Aggregate"), "parent": text},
    required="name description domainType",
)
PRODUCT = Shape(
    {
        **_BUSINESS,
        "domains": _NAMES,
        "reviewers": listing(REFERENCE),
        "assets": listing(REFERENCE),
        **dict.fromkeys(("dataProductType", "visibility", "portfolioPriority"), text),
    },
    required="name description domains",
)
TEAM = Shape(
    {
        **_HEAD,
        "teamType": choice("Group", "Department", "Division", "BusinessUnit", "Organization"),
        "email": _EMAIL,
        "externalId": text,
        "profile": mapping,
        **dict.fromkeys(("parents", "children", "users", "defaultRoles", "policies"), _IDS),
        "defaultPersona": uuid,
        "owners": listing(REFERENCE),
        "isJoinable": flag,
        "domains": _NAMES,
    },
    required="name teamType",
)
USER = Shape(
    {
        **_HEAD,
        "email": _EMAIL,
        **dict.fromkeys(("externalId", "scimUserName", "timezone", "botName", "password", "confirmPassword"), text),
        **dict.fromkeys(("isBot", "isAdmin"), flag),
        **dict.fromkeys(("profile", "authenticationMechanism"), mapping),
        **dict.fromkeys(("teams", "roles"), _IDS),
        "personas": listing(REFERENCE),
        "defaultPersona": REFERENCE,
        "createPasswordType": choice("ADMIN_CREATE", "USER_CREATE"),
        "domains": _NAMES,
    },
    required="name email",
)
ROLE = Shape({**_HEAD, "policies": _NAMES, "domains": _NAMES}, required="name policies")
_RULE = Shape(
    {
        **dict.fromkeys(("name", "fullyQualifiedName", "description", "condition"), text),
        "effect": choice("allow", "deny"),
        "operations": listing(choice(*enums.OPERATIONS)),
        "resources": listing(text),
    },
    required="name effect operations resources",
)
POLICY = Shape(
    {
        **_HEAD,
        "owners": listing(REFERENCE),
        "rules": listing(_RULE),
        "enabled": flag,
        "location": uuid,
        "domains": _NAMES,
    },
    required="name",
)

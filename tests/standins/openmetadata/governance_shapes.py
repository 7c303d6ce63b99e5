"""Shapes of requests about governance entities."""

from tests.standins.openmetadata import enums
from tests.standins.openmetadata.create_shapes import LABEL, REFERENCE
from tests.standins.openmetadata.shapes import (
    Reader,
    Shape,
    anything,
    boolean,
    bounded_text,
    choice,
    entity_name,
    integer,
    list_of,
    mapping,
    matching_text,
    text,
    uuid,
)

_PROPERTY_NAME = matching_text("^[A-Za-z0-9][A-Za-z0-9 _\\-.,;%#@!'(){}\\[\\]|=+?`]*$")
_EMAIL = matching_text("^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@\\S+$")
_NAMES = list_of(bounded_text(1, 3072))
_IDS = list_of(uuid)
_HEAD: dict[str, Reader] = {"name": entity_name(256), "displayName": text, "description": text}
_PEOPLE: dict[str, Reader] = {"owners": list_of(REFERENCE), "reviewers": list_of(REFERENCE), "domains": _NAMES}
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
    {**_HEAD, **_PEOPLE, "provider": _PROVIDER, "mutuallyExclusive": boolean, "autoClassificationConfig": mapping},
    required="name description",
)
TAG = Shape(
    {
        **_HEAD,
        **_PEOPLE,
        **dict.fromkeys(("classification", "parent"), bounded_text(1, 3072)),
        "style": _STYLE,
        "associatedTags": list_of(text),
        "provider": _PROVIDER,
        "mutuallyExclusive": boolean,
        "recognizers": list_of(mapping),
        "autoClassificationEnabled": boolean,
        "autoClassificationPriority": integer,
    },
    required="name description",
)
_WORDS: dict[str, Reader] = {
    **_HEAD,
    **_PEOPLE,
    "tags": list_of(LABEL),
    "provider": _PROVIDER,
    "mutuallyExclusive": boolean,
    "extension": mapping,
}
GLOSSARY = Shape(_WORDS, required="name description")
TERM = Shape(
    {
        **_WORDS,
        **dict.fromkeys(("glossary", "parent"), bounded_text(1, 3072)),
        "iri": text,
        "style": _STYLE,
        "synonyms": list_of(entity_name(256)),
        "relatedTerms": _NAMES,
        "references": list_of(Shape({"name": text, "endpoint": text})),
        "conceptMappings": list_of(mapping),
    },
    required="name description glossary",
)
_BUSINESS: dict[str, Reader] = {
    **_HEAD,
    "fullyQualifiedName": text,
    "style": _STYLE,
    "owners": list_of(REFERENCE),
    "experts": list_of(text),
    "tags": list_of(LABEL),
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
        "reviewers": list_of(REFERENCE),
        "assets": list_of(REFERENCE),
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
        "owners": list_of(REFERENCE),
        "isJoinable": boolean,
        "domains": _NAMES,
    },
    required="name teamType",
)
USER = Shape(
    {
        **_HEAD,
        "email": _EMAIL,
        **dict.fromkeys(("externalId", "scimUserName", "timezone", "botName", "password", "confirmPassword"), text),
        **dict.fromkeys(("isBot", "isAdmin"), boolean),
        **dict.fromkeys(("profile", "authenticationMechanism"), mapping),
        **dict.fromkeys(("teams", "roles"), _IDS),
        "personas": list_of(REFERENCE),
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
        "operations": list_of(choice(*enums.OPERATIONS)),
        "resources": list_of(text),
    },
    required="name effect operations resources",
)
POLICY = Shape(
    {
        **_HEAD,
        "owners": list_of(REFERENCE),
        "rules": list_of(_RULE),
        "enabled": boolean,
        "location": uuid,
        "domains": _NAMES,
    },
    required="name",
)

"""Whether the services that datasets go into are there, or may be made."""

from collections.abc import Iterator

from bridge.bootstrap import layout_of
from bridge.doctor.finding import Finding, Level
from bridge.openmetadata_settings import OpenMetadataSettings
from connectors.openmetadata.client import OpenMetadata
from mappers.openmetadata.fqn import fqn
from mappers.openmetadata.places import CUSTOM, Service, place


def check(client: OpenMetadata, settings: OpenMetadataSettings) -> Iterator[Finding]:
    """Look up every service that the settings name."""
    for service in dict.fromkeys(_named(settings)):
        found = client.get(f"services/{service.kind}s", fqn(service.name))
        said = f"{service.name} ({service.kind}, {service.type})"
        if found is not None:
            yield Finding(
                Level.ok, "services", f"{service.name} ({service.kind}, {found.get('serviceType')}) is there"
            )
        elif settings.create == "all":
            yield Finding(Level.ok, "services", f"{said} is not there, and is made when something goes into it")
        else:
            remedy = "make it in OpenMetadata under this very name, or set openmetadata.create to all"
            found_not = f"{said} is not there, and openmetadata.create is {settings.create}"
            yield Finding(Level.error, "services", found_not, remedy)


def _named(settings: OpenMetadataSettings) -> Iterator[Service]:
    """Give the services that are named: a mapping tells the kind of its own by its namespace."""
    layout = layout_of(settings)
    for mapping in layout.mappings:
        service = place(layout._replace(mappings=(mapping,)), mapping.namespace, "name").service
        yield service if service.name == mapping.service else Service(*CUSTOM["table"], mapping.service)
    yield Service(*CUSTOM["table"], layout.service)

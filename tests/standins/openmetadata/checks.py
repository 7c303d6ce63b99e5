"""Data quality state: test definitions, test cases with results, and open incidents."""

import uuid
from dataclasses import dataclass, field
from typing import Any

from tests.standins.openmetadata.changes import Change, next_version
from tests.standins.openmetadata.names import normalize_fqn

Data = dict[str, Any]


def new_id() -> str:
    return str(uuid.uuid4())


@dataclass
class Definition:
    """A test definition."""

    data: Data
    id: str = field(default_factory=new_id)

    def reference(self, base: str | None) -> Data:
        out: Data = {
            "id": self.id,
            "type": "testDefinition",
            "name": self.data["name"],
            "fullyQualifiedName": self.data["fullyQualifiedName"],
            "displayName": self.data.get("displayName") or self.data["name"],
            "deleted": False,
        }
        if base is not None:
            out["href"] = f"{base}/api/v1/dataQuality/testDefinitions/{self.id}"
        return out | {name: self.data[name] for name in ("description",) if name in self.data}


@dataclass
class Case:
    """A test case, and its results by their timestamps."""

    data: Data
    definition: Definition
    suite: "Suite"
    id: str = field(default_factory=new_id)
    results: dict[int, Data] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def fqn(self) -> str:
        return str(self.data["fullyQualifiedName"])

    @property
    def deleted(self) -> bool:
        return bool(self.data["deleted"])

    def latest(self) -> Data | None:
        """Result with the largest timestamp."""
        return self.results[max(self.results)] if self.results else None


@dataclass
class Suite:
    """The test cases of one table; created with the first one."""

    table: str
    id: str = field(default_factory=new_id)
    cases: list[Case] = field(default_factory=list)

    def reference(self, base: str | None = None) -> Data:
        name = f"{self.table}.testSuite"
        out: Data = {"id": self.id, "type": "testSuite", "name": name, "fullyQualifiedName": name}
        out |= {"displayName": name, "deleted": False}
        return out if base is None else out | {"href": f"{base}/api/v1/dataQuality/testSuites/{self.id}"}


@dataclass
class Incident:
    """An unresolved failure; it survives the deletion of its test case."""

    case: str
    id: str = field(default_factory=new_id)
    state: str = field(default_factory=new_id)


#: Level and parameters of stock definitions. Unverified: no recording creates a test case with one.
_STOCK = {
    "columnValuesToBeNotNull": ("COLUMN", ()),
    "columnValuesToBeUnique": ("COLUMN", ()),
    "columnValuesToBeBetween": ("COLUMN", ("minValue", "maxValue")),
    "tableRowCountToBeBetween": ("TABLE", ("minValue", "maxValue")),
}


def _stock(name: str, level: str, parameters: tuple[str, ...]) -> Data:
    return {
        "name": name,
        "fullyQualifiedName": name,
        "entityType": level,
        "testPlatforms": ["OpenMetadata"],
        "parameterDefinition": [{"name": parameter, "required": False} for parameter in parameters],
        "provider": "system",
        "version": 0.1,
        "deleted": False,
    }


class Checks:
    """Data quality state of one server."""

    def __init__(self) -> None:
        self.definitions = {name: Definition(_stock(name, *shape)) for name, shape in _STOCK.items()}
        self.cases: dict[str, Case] = {}
        #: By table id.
        self.suites: dict[str, Suite] = {}
        #: By FQN of the test case.
        self.incidents: dict[str, Incident] = {}

    def definition(self, name: str) -> Definition | None:
        return self.definitions.get(normalize_fqn(name))

    def case(self, fqn: str) -> Case | None:
        return self.cases.get(fqn) or self.cases.get(normalize_fqn(fqn))

    def add(self, case: Case) -> None:
        self.cases[case.fqn] = case
        case.suite.cases.append(case)

    def remove_table(self, table: str) -> None:
        """Remove the test cases of a deleted table; their incidents stay, as on the server."""
        suite = self.suites.pop(table, None)
        for case in suite.cases if suite else ():
            del self.cases[case.fqn]

    def set_deleted(self, table: str, deleted: bool, user: str, now: int) -> None:
        """Soft-delete or restore the test cases of a table."""
        suite = self.suites.get(table)
        for case in suite.cases if suite else ():
            change = Change()
            change.update("deleted", case.deleted, deleted)
            described = change.describe(case.data["version"], None if deleted else {})
            case.data = {
                **case.data,
                "deleted": deleted,
                "version": next_version(case.data["version"], change),
                "updatedAt": now,
                "updatedBy": user,
                "changeDescription": described,
            }

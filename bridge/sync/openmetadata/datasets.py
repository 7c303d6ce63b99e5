"""What entities datasets shall be: one of several places, with everything that the store knows."""

from collections.abc import Iterator, Sequence

from bridge.store.database import Database
from bridge.sync.datasets import StoredDataset, read_datasets, read_unfinished, read_unseen
from bridge.sync.item import Item, Outcome, Settled, fingerprint
from bridge.sync.openmetadata.rules import Rules
from bridge.sync.openmetadata.wanted import Choice, Wanted
from mappers.naming import storage_path
from mappers.openmetadata.columns import ColumnRow, Columns
from mappers.openmetadata.places import Layout, caseless, find_mapping, place
from mappers.openmetadata.requests import Described, requests
from mappers.openmetadata.text import as_stored


def want_datasets(db: Database, org: str, rules: Rules, items: Sequence[Item]) -> Iterator[Wanted | Settled]:
    """Say what datasets shall be, or why they shall not be."""
    stored = read_datasets(db, org, [item.key for item in items])
    # what was about to be made when nobody came back to tell may be there already
    new = [item.key for item in items if item.remote is None and "making" not in item.detail]
    unseen = read_unseen(db, org, new)
    unfinished = read_unfinished(db, org, new) if rules.register_on_completion else set()
    for item in items:
        if item.key not in stored:
            yield item.linked(Outcome.UNWANTED, "it has become another name of a dataset")
        elif stored[item.key].gone:
            yield item.linked(Outcome.UNWANTED, "it was dropped or renamed, and not written since")
        elif item.key in unseen:
            yield item.linked(Outcome.WAITING, "nobody has seen it yet: an asset file names it, without its columns")
        elif item.key in unfinished:
            yield item.linked(Outcome.WAITING, "no run that reads or writes it is complete")
        else:
            yield want_dataset(item, stored[item.key], rules)


def want_dataset(item: Item, stored: StoredDataset, rules: Rules) -> Wanted:
    """Say what a dataset shall be: its preferred name first, mapped names before those that nothing maps."""
    names = [(stored.namespace, stored.name), *stored.others]
    mapped = [name for name in names if find_mapping(rules.layout.mappings, name[0])]
    home = Layout((), rules.layout.service, rules.layout.files_as)
    made = [_choice(rules.layout, name, stored, is_home=False) for name in mapped]
    if not made or rules.unresolved == "own_service":
        own, columns = _choice(home, names[0], stored, is_home=True)
        made.append((_described_home(own, rules.service_description), columns))
    choices = [choice for choice, _ in made]
    kept = {} if rules.update_on_schema_change or item.remote is None else {"columns": None}
    said = [(one.own.collection, one.own.fqn, one.own.body | kept) for one in choices]
    left_out = made[0][1].left_out
    notes = tuple(f"the column {name} cannot be told: another one is called so" for name in left_out)
    mark = fingerprint([said, rules.create, rules.unresolved])
    return Wanted(item, tuple(choices), mark, notes, stored.members)


def _choice(layout: Layout, name: tuple[str, str], stored: StoredDataset, *, is_home: bool) -> tuple[Choice, Columns]:
    made = requests(place(layout, *name), _described(name, stored))
    return Choice(tuple(made.parents), made.own, is_home, caseless(name[0])), made.columns


def _described_home(choice: Choice, description: str) -> Choice:
    """Say what our own service is for."""
    service, *others = choice.parents
    told = {"description": as_stored(description)} if description else {}
    return choice._replace(parents=(service._replace(body=service.body | told), *others))


def _described(name: tuple[str, str], stored: StoredDataset) -> Described:
    return Described(
        name[1],
        stored.description,
        stored.format,
        tuple(ColumnRow(*column) for column in stored.columns),
        storage_path(*name),
    )

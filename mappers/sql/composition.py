"""From single steps to a chain of them: where the columns of a result come from in the end."""

from collections.abc import Collection, Iterable, Sequence

from mappers.sql.source import Done, Source, Sources, Traced, through


def compose(steps: Sequence[tuple[str, Traced]], result: str, inputs: Collection[str]) -> Traced:
    """Say which columns of the inputs the columns of a step come from; KeyError if no step is called so.

    Steps come in the order in which they run; case does not matter in names of views and columns. What a step takes
    from a view that is neither an input nor a step before it has no sources.
    """
    given = frozenset(name.lower() for name in inputs)
    known: dict[str, Traced] = {}
    for name, traced in steps:
        known[name.lower()] = _down(traced, known, given)
    return known[result.lower()]


def _down(traced: Traced, known: dict[str, Traced], inputs: frozenset[str]) -> Traced:
    columns = {name: _listed(_beneath(sources, known, inputs)) for name, sources in traced.columns.items()}
    whole = _beneath(traced.whole, known, inputs)
    views = traced.reads | {source.view for sources in traced.columns.values() for source in sources}
    views |= {source.view for source in traced.whole}
    steps = [known[view] for view in views if view in known]
    whole = whole.union(*(step.whole for step in steps))
    reads = frozenset(view for view in views if view not in known and view in inputs)
    return Traced(columns, _listed(whole), reads.union(*(step.reads for step in steps)))


def _beneath(sources: Iterable[Source], known: dict[str, Traced], inputs: frozenset[str]) -> Sources:
    found: set[Source] = set()
    for source in sources:
        step = known.get(source.view)
        if step is not None:
            done = Done(source.type, source.subtype, source.masking)
            found |= through(_column(step, source.column), done)
        elif source.view in inputs:
            found.add(source)
    return frozenset(found)


def _column(step: Traced, name: str) -> tuple[Source, ...]:
    exact = step.columns.get(name)
    if exact is not None:
        return exact
    return next((sources for column, sources in step.columns.items() if column.lower() == name.lower()), ())


def _listed(sources: Sources) -> tuple[Source, ...]:
    return tuple(sorted(sources))

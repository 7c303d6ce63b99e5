"""What is said of a walk that did not find all there is."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.store.walk import Cut


def tell_cut(cut: "Cut | None") -> Iterator[str]:
    """Name the option that shows more, if anything was cut."""
    if cut is not None:
        yield f"… there is more: raise --{'depth' if cut == 'depth' else 'most'}"

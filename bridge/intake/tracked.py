"""What is known of one file that is tailed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bridge.intake.position import fingerprint, is_same_file, stored_name
from bridge.store.writer import Position
from connectors.openlineage.tail import Identity
from connectors.openlineage.watch import former_names


@dataclass(slots=True, eq=False)
class Tracked:
    """A file, how far it was taken, and whether it may hold more."""

    path: Path
    name: str
    identity: Identity
    size: int = 0
    modified: int = -1
    end: int = 0
    fingerprint: bytes = field(default_factory=lambda: fingerprint(b"", 0))
    changed_at: float = 0.0
    due: bool = True
    fresh: bool = True
    unstored: bool = False
    nameless: bool = False
    told_torn: bool = False

    def position(self) -> Position:
        """Give what is stored of the file."""
        return Position(self.name, self.fingerprint, self.end)

    def former_names(self) -> list[str]:
        """Name where the position may be stored if the file was rotated while nobody looked."""
        return [stored_name(path) for path in former_names(self.path)]

    def is_torn(self) -> bool:
        """Tell whether a line without its end waits behind what was taken, and nobody was told."""
        return not self.due and self.size > self.end and not self.told_torn

    def resume(self, beginning: bytes, positions: Iterable[Position]) -> bool:
        """Go on at the first of the positions in this folder whose content this file has."""
        folder = Path(self.name).parent
        for position in positions:
            if Path(position.path).parent == folder and is_same_file(position, beginning, self.size):
                self.end, self.fingerprint = position.end, position.fingerprint
                return True
        return False

    def take(self, end: int, beginning: bytes) -> None:
        """Go on behind what was taken."""
        self.end, self.fingerprint, self.unstored = end, fingerprint(beginning, end), False
        self.told_torn = False

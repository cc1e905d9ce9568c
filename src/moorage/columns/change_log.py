"""Log what changed, in order and bounded in length, so that a reader looks again at that and at nothing else."""

from typing import Generic, TypeVar

T = TypeVar("T")
_LIMIT = 1 << 16


class ChangeLog(Generic[T]):
    """The slots, or names, that changed. A reader keeps a position and asks what came after it."""

    __slots__ = ("_base", "_changed", "is_trial", "position")

    def __init__(self) -> None:
        self.position = 0
        self.is_trial = False  # whether what is logged now is about to be undone
        self._base = 0
        self._changed: list[T] = []

    def note(self, changed: T) -> None:
        self.position += 1
        self._changed.append(changed)
        if len(self._changed) > _LIMIT:
            drop = len(self._changed) // 2
            del self._changed[:drop]
            self._base += drop

    def forget(self) -> None:
        """Log that everything changed."""
        self.position += 1
        self._base = self.position
        self._changed.clear()

    def rewind(self, position: int) -> None:
        """Drop what was logged after a position, where everything is as it was then and unread."""
        if position >= self._base:
            self.position = position
            del self._changed[position - self._base :]

    def since(self, position: int) -> list[T] | None:
        """Return what changed after a position; None if that is too long ago to tell."""
        if position < self._base:
            return None
        return self._changed[position - self._base :]

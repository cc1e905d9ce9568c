"""The taints of all nodes as one column of codes, one for each distinct list of taints, in the node's order."""

from moorage.columns.interning import Interner
from moorage.model.types.node import Taint

TaintSet = tuple[Taint, ...]


class TaintSets:
    """Distinct lists of taints; code 0 is the empty list."""

    __slots__ = ("_by_key", "sets")

    def __init__(self) -> None:
        self.sets: list[TaintSet] = []
        self._by_key: Interner[tuple[tuple[str, str, str], ...]] = Interner()
        self.intern(())

    def intern(self, taints: TaintSet) -> int:
        code = self._by_key.intern(tuple((taint.key, taint.value, taint.effect) for taint in taints))
        if code == len(self.sets):
            self.sets.append(taints)
        return code

"""Answer questions about capacity: the cheapest mix of nodes, what a threshold costs, what a loss does.

`curve`, `fit`, `lose` and `reclaim` are the library's functions, documented in docs/library.md; they are imported when
they are first used.
"""

TYPE_CHECKING = False  # as in typing, which takes 10 ms to import
if TYPE_CHECKING:
    from moorage.library.capacity import curve as curve
    from moorage.library.capacity import fit as fit
    from moorage.library.capacity import lose as lose
    from moorage.library.capacity import reclaim as reclaim

_FUNCTIONS = frozenset({"curve", "fit", "lose", "reclaim"})


if not TYPE_CHECKING:  # for type checkers every name would exist

    def __getattr__(name: str) -> object:
        import importlib

        if name in _FUNCTIONS:
            found = globals()[name] = getattr(importlib.import_module("moorage.library.capacity"), name)
            return found
        raise AttributeError(f"module 'moorage.capacity' has no attribute {name!r}")

"""Moorage: a Kubernetes-compatible scheduling control plane in which every decision can be explained.

The names in `__all__` are the library: documented in docs/library.md and kept stable by semantic versioning. They are
imported when they are first used, so that `import moorage` itself costs next to nothing.
"""

TYPE_CHECKING = False  # as in typing, which takes 10 ms to import
if TYPE_CHECKING:
    from moorage import capacity as capacity
    from moorage import cel as cel
    from moorage import testing as testing
    from moorage.library.checking import LintReport, Tolerance, admit, lint, tolerates
    from moorage.library.cluster import Cluster
    from moorage.library.manifests import MoorageError
    from moorage.library.planning import Plan, explain, plan

__version__ = "0.14.0"

__all__ = [
    "Cluster",
    "LintReport",
    "MoorageError",
    "Plan",
    "Tolerance",
    "__version__",
    "admit",
    "explain",
    "lint",
    "plan",
    "tolerates",
]

#: Where names are defined that are not modules.
_HOMES = {
    "Cluster": "moorage.library.cluster",
    "LintReport": "moorage.library.checking",
    "MoorageError": "moorage.library.manifests",
    "Plan": "moorage.library.planning",
    "Tolerance": "moorage.library.checking",
    "explain": "moorage.library.planning",
    "tolerates": "moorage.library.checking",
}
#: Public modules. `admit`, `lint` and `plan` are packages that can be called, see `callable_package`.
_MODULES = frozenset({"admit", "capacity", "cel", "lint", "plan", "testing"})


if not TYPE_CHECKING:  # for type checkers every name would exist

    def __getattr__(name: str) -> object:
        import importlib

        if name in _MODULES:
            return importlib.import_module(f"moorage.{name}")
        if name in _HOMES:
            found = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
            return found
        raise AttributeError(f"module 'moorage' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})

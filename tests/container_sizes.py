"""Add up the sizes of all containers that can be reached from some objects, by the path of attributes to them.

Keys and indexes are left out of paths (`[*]`), so that what grows with the number of deleted things is one line:
`api.roles._bindings[*]`. Followed are attributes, containers, closures, bound methods, tasks and the local variables
of coroutines that wait; not followed are modules, classes, code, and values that hold no containers.
"""

import gc
import inspect
import types
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import numpy as np

from moorage.telemetry.metrics import Family

_VALUES = (str, bytes, int, float, complex, bool, type(None), np.generic)
_PLAIN = (*_VALUES, type, types.ModuleType, types.CodeType, AbstractEventLoop)
_CONTAINERS = (dict, list, set, frozenset, deque)
_WEAK = (WeakKeyDictionary, WeakSet, WeakValueDictionary)
_SKIPPED_MODULES = (
    "asyncio",
    "selectors",
    "threading",
    "concurrent",
    "logging",
    "hypothesis",
    "_pytest",
    "cryptography",
)


def container_sizes(roots: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of elements of all containers, by path; of arrays, a 64th of it."""
    gc.collect()
    sizes: dict[str, int] = {}
    seen: set[int] = set()
    kept: list[Any] = []  # so that no identity is used twice
    waiting: deque[tuple[str, Any]] = deque(roots.items())
    while waiting:
        path, thing = waiting.popleft()
        if isinstance(thing, _PLAIN) or id(thing) in seen:
            continue
        seen.add(id(thing))
        kept.append(thing)
        if isinstance(thing, (*_CONTAINERS, *_WEAK)):
            sizes[path] = sizes.get(path, 0) + len(thing)
        elif isinstance(thing, np.ndarray):
            sizes[path] = sizes.get(path, 0) + thing.size // 64
        waiting.extend(_children(path, thing))
    return sizes


def _children(path: str, thing: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, dict):
        for key, value in list(thing.items()):
            yield f"{path}[{key if isinstance(value, Family) else '*'}]", value
            if not isinstance(key, str):
                yield f"{path}{{key}}", key
    elif isinstance(thing, (list, tuple, set, frozenset, deque)):
        yield from ((f"{path}[*]", item) for item in list(thing))
    elif isinstance(thing, partial):
        yield from ((f"{path}()", part) for part in (thing.func, thing.args, thing.keywords))
    elif isinstance(thing, types.MethodType):
        yield path, thing.__self__
    elif isinstance(thing, types.FunctionType):
        for name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True):
            try:
                yield f"{path}<{name}>", cell.cell_contents
            except ValueError:
                continue
    elif inspect.iscoroutine(thing) or inspect.isgenerator(thing) or inspect.isasyncgen(thing):
        yield from _frame(path, thing)
    else:
        yield from _attributes(path, thing)


def _frame(path: str, thing: Any) -> Iterator[tuple[str, Any]]:
    kind = "cr" if inspect.iscoroutine(thing) else "gi" if inspect.isgenerator(thing) else "ag"
    frame, awaited = getattr(thing, f"{kind}_frame"), getattr(thing, f"{kind}_await", None)
    if frame is not None:
        yield from ((f"{path}.{thing.__name__}:{name}", value) for name, value in list(frame.f_locals.items()))
    if awaited is not None:
        yield path, awaited


def _attributes(path: str, thing: Any) -> Iterator[tuple[str, Any]]:
    owner = type(thing)
    if owner.__module__.split(".")[0] in _SKIPPED_MODULES:
        if hasattr(thing, "get_coro"):
            yield f"{path}", thing.get_coro()
        return
    names = dict.fromkeys(getattr(thing, "__dict__", ()))
    for base in owner.__mro__:
        slots = base.__dict__.get("__slots__", ())
        names.update(dict.fromkeys((slots,) if isinstance(slots, str) else slots))
    names.update(dict.fromkeys(getattr(owner, "__struct_fields__", ())))
    for name in names:
        if name in ("__weakref__", "__dict__"):
            continue
        full = f"_{owner.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        try:
            yield f"{path}.{name}", getattr(thing, full)
        except AttributeError:
            continue


def growing(before: Mapping[str, int], after: Mapping[str, int], by: int) -> dict[str, tuple[int, int]]:
    """Return the paths whose containers have at least so many elements more than before."""
    return {
        path: (before.get(path, 0), size) for path, size in sorted(after.items()) if size - before.get(path, 0) >= by
    }

"""Packages that can be called: `moorage.plan(...)` although `moorage.plan` is a package.

A function of that name in `moorage/__init__.py` would be replaced by the package as soon as something imports it.
"""

import importlib
import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """A package that stands for a function, which is imported when it is called."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.__wrapped__(*arguments, **options)

    @property
    def __wrapped__(self) -> Any:
        """The function; `help` and `inspect.signature` find it by this name."""
        module, _, name = self.__dict__["_stands_for"].rpartition(".")
        return getattr(importlib.import_module(module), name)


def make_callable(package: str, function: str) -> None:
    """Make calls of a package calls of a function, which is given by its full name."""
    module = sys.modules[package]
    module.__dict__["_stands_for"] = function
    module.__class__ = _CallablePackage

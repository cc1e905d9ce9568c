"""Read --native, the operators that the cluster knows itself, and --new-comparisons: whether more are lowered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

AUTO, NONE = "auto", "none"
ACCEPT, REFUSE = "accept", "refuse"
new_comparisons_option = click.option(
    "--new-comparisons",
    type=click.Choice((ACCEPT, REFUSE)),
    default=ACCEPT,
    show_default=True,
    help="Whether objects are lowered that were not before; refuse is the first step to uninstall attach.",
)
_HINT: Final = "'--native'"


def native_option(default: str, words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--native",
        default=default,
        show_default=True,
        metavar="OPERATOR,...",
        help=f"Operators of tolerations that the cluster knows itself, which are left to it, such as Lt,Gt; {words}",
    )


def chosen_operators(text: str) -> frozenset[str] | None:
    """Return the operators of --native; None for auto. Raises click.BadParameter."""
    from moorage.attached.native import COMPARING

    words = tuple(word.strip() for word in text.split(",") if word.strip())
    if words == (AUTO,):
        return None
    if words == (NONE,):
        return frozenset()
    if not words:
        raise click.BadParameter(f"names no operator: write {NONE}", param_hint=_HINT)
    for word in words:
        if word not in COMPARING:
            known = ", ".join(COMPARING)
            raise click.BadParameter(f"{word!r} is not one of {known}", param_hint=_HINT)
    return frozenset(words)

"""Find and print the pages of the rules, docs/findings/<rule>.md: in the installed package, or in the checkout.

The index of the pages lists all rules without importing them, which would take longer than completing a name.
"""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import moorage

_BOLD, _DIM, _CYAN = "1", "2", "36"
_ROW = re.compile(r"^\| \[`([a-z-]+)`\]\([a-z-]+\.md\) \| (\w+) \| (.+) \|$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def page_of(rule: str) -> str:
    """Return the Markdown of a rule's page; raises FileNotFoundError if the installation came without pages."""
    package = Path(moorage.__file__).resolve().parent
    for folder in (package / "lint" / "pages", package.parents[1] / "docs" / "findings"):
        file = folder / f"{rule}.md"
        if file.is_file():
            return file.read_text(encoding="utf-8")
    raise FileNotFoundError(f"this installation of moorage came without the page of {rule}")


class ListedRule(NamedTuple):
    """A row of the index."""

    name: str
    severity: str
    summary: str


def listed_rules() -> list[ListedRule]:
    """Return the rules in the order of the index; raises FileNotFoundError if the installation came without pages."""
    return [ListedRule(*row) for row in _ROW.findall(page_of("README"))]


def for_terminal(text: str, width: int, *, colour: bool) -> Iterator[str]:
    """Return the lines of a page wrapped at the terminal's width, links as text and address, headings marked."""

    def styled(line: str, codes: str) -> str:
        return f"\x1b[{codes}m{line}\x1b[0m" if colour and line else line

    for number, part in enumerate(re.split(r"^```(?:\w*)\n", text, flags=re.MULTILINE)):
        if number % 2:
            yield from (f"    {styled(line, _CYAN)}" if line else "" for line in part.rstrip("\n").split("\n"))
            yield ""
            continue
        for paragraph in filter(None, (one.strip("\n") for one in part.split("\n\n"))):
            if paragraph.startswith("#"):
                yield styled(paragraph.lstrip("# ").replace("`", ""), _BOLD)
            elif paragraph.lstrip().startswith(("- ", "* ", "| ", "1. ")):
                yield from (_plain(line) for line in paragraph.split("\n"))
            else:
                yield from textwrap.wrap(
                    _plain(" ".join(paragraph.split("\n"))), width, break_long_words=False, break_on_hyphens=False
                )
            yield ""


def _plain(text: str) -> str:
    """Return Markdown without marks; a link keeps its address if that leads anywhere from a terminal."""
    linked = _LINK.sub(lambda link: f"{link[1]} <{link[2]}>" if "://" in link[2] else link[1], text)
    return linked.replace("`", "").replace("**", "")

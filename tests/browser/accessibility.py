"""What axe-core finds wrong with a page, one line for each element."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page

_AXE: str = Axe().axe_script
_RUN = """(options) => axe.run(document, options).then(({violations}) => violations.flatMap(({id, impact, nodes}) =>
  nodes.map(({html}) => `${id} (${impact}): ${html.slice(0, 200)}`)))"""


def violations(page: Page, rules: list[str] | None = None) -> list[str]:
    """Return rule, impact and element of each violation of `rules`, or of all; a well made page has none."""
    if page.evaluate("typeof axe === 'undefined'"):  # half a megabyte of script, once for each document
        page.evaluate(_AXE)
    options: dict[str, Any] = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    found: list[str] = page.evaluate(_RUN, options)
    return found

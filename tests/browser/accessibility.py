"""What axe-core finds wrong with a page, one line for each element."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page


def violations(page: Page, rules: list[str] | None = None) -> list[str]:
    """Return rule, impact and element of each violation of `rules`, or of all; a well made page has none."""
    options: dict[str, Any] = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    found = Axe().run(page, options=options).response["violations"]
    return [f"{one['id']} ({one['impact']}): {node['html'][:200]}" for one in found for node in one["nodes"]]

"""What axe-core finds wrong with a page, one line for each element."""

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page


def violations(page: Page) -> list[str]:
    """Return rule, impact and element of each violation; a page that is well made has none."""
    found = Axe().run(page).response["violations"]
    return [f"{one['id']} ({one['impact']}): {node['html'][:200]}" for one in found for node in one["nodes"]]

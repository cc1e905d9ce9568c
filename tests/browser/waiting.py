"""Wait for what Playwright's own expectations do not see: values in the page, and facts outside of it."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page
from tests.browser.conftest import PATIENCE

#: What is not ready yet is asked for again after these milliseconds.
_PAUSE = 30


def until(page: Page, script: str, argument: Any, is_wanted: Callable[[Any], bool]) -> None:
    """Wait for a value in the page. (Its policy forbids wait_for_function with an expression, which evaluates text.)"""
    seen = None

    def looked() -> bool:
        nonlocal seen
        seen = page.evaluate(script, argument)
        return is_wanted(seen)

    wait_for(page, looked, lambda: f"{script} stayed {seen!r}")


def wait_for(page: Page, condition: Callable[[], bool], problem: Callable[[], str] = lambda: "it never came") -> None:
    """Wait for a condition while the page goes on."""
    for _ in range(int(PATIENCE / _PAUSE)):
        if condition():
            return
        page.wait_for_timeout(_PAUSE)
    raise AssertionError(problem())

"""A person at the page: uses only what is in sight and has a role and a name, and counts what that costs."""

import re

from playwright.sync_api import Locator, Page, expect

Name = str | re.Pattern[str]


class Person:
    """Clicks and types. A choice from a list costs two clicks: one opens the list."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = self.typed = 0

    def click(self, role: str, name: Name, *, within: Locator | None = None) -> None:
        target = self._target(role, name, within)
        target.click()
        self.clicks += 1

    def choose(self, label: Name, option: str) -> None:
        target = self._target("combobox", label, None)
        target.select_option(option)
        self.clicks += 2

    def type(self, role: str, name: Name, text: str, *, within: Locator | None = None) -> None:
        """Click into a field, type, and press Enter."""
        target = self._target(role, name, within)
        target.fill(text)
        target.press("Enter")
        self.clicks += 1
        self.typed += 1

    def unfold(self, role: str, name: Name, *, for_: Locator) -> None:
        """Open what hides something, unless it is in sight already."""
        either = for_.first.or_(self._target(role, name, None)).first
        expect(either).to_be_visible()
        if not for_.first.is_visible():
            self.click(role, name)

    def sees(self, text: Name, *, within: Locator | None = None) -> None:
        place = within or self.page.locator("main")
        expect(place.get_by_text(text).first).to_be_visible()

    def _target(self, role: str, name: Name, within: Locator | None) -> Locator:
        place = within or self.page
        return place.get_by_role(role, name=name, exact=isinstance(name, str))  # type: ignore[arg-type]

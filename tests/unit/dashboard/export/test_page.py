"""A saved page is whole in itself, and its policy allows only what is in it."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

from moorage.dashboard.export.page import render

HOSTILE = "</script><img src=x onerror=alert(1)><!--"


class Markup(HTMLParser):
    """The elements of a page, with the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, dict[str, str | None], str]] = []
        self._text: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._text = [] if tag in ("script", "style") else None

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._text is not None:
            self.texts.append((*self.elements[-1], "".join(self._text)))
            self._text = None


def page() -> str:
    return render({"state": {"nodes": [{"name": HOSTILE}]}, "answers": {"plan {}": []}, "view": "#/plan"})


def test_the_policy_names_the_script_and_the_style_and_nothing_else() -> None:
    markup = Markup(page())
    (policy,) = [found["content"] for tag, found in markup.elements if found.get("http-equiv")]
    assert policy is not None
    texts = {(tag, found.get("type")): text for tag, found, text in markup.texts}
    for directive, key in (("script-src", ("script", "module")), ("style-src", ("style", None))):
        digest = base64.b64encode(hashlib.sha256(texts[key].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert re.findall(r"\bdata:|blob:|https?:", policy) == ["data:"]
    assert "img-src data:" in policy


def test_the_policy_comes_before_all_that_it_is_for() -> None:
    text = page()
    assert text.index("Content-Security-Policy") < text.index("<style>") < text.index("<script")


def test_nothing_is_loaded() -> None:
    markup = Markup(page())
    loaded = [found for _, found in markup.elements if found.get("src") or (found.get("href") or "").endswith(".css")]
    assert loaded == []
    icons = [found["href"] for tag, found in markup.elements if tag == "link"]
    assert all(one is not None and one.startswith("data:") for one in icons)


def test_no_string_ends_the_data() -> None:
    text = page()
    assert HOSTILE not in text
    (data,) = [data for _, found, data in Markup(text).texts if found.get("id") == "embedded"]
    assert "<" not in data
    assert json.loads(data)["state"]["nodes"][0]["name"] == HOSTILE

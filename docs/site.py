"""MkDocs hooks of the documentation site: add pages from outside of docs/, follow their links, list whole folders.

README.md is the first page; ARCHITECTURE.md, CHANGELOG.md, CONTRIBUTING.md, SECURITY.md and examples/ are pages as
well. Links to source files, which the site does not have, become plain text. In the nav, "folder/*" stands for all
pages of a folder. A file's name after the language of a block becomes its title.
"""

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
#: Files of the repository's root, and where they are on the site.
_AT_ROOT = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
_LINK = re.compile(r"\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")
#: How pages name the file that a block is, which GitHub ignores and MkDocs wants as a title.
_NAMED_FENCE = re.compile(r"^(?P<fence> *```[a-z]+) (?P<name>[\w./-]+)$", re.MULTILINE)
#: What becomes of a fence that is not one: text, or inline code of several lines.
_LITERAL_FENCE = re.compile(r"^(?:<p>)?```|<p><code>[^<]*\n", re.MULTILINE)
_FENCE = re.compile(r"(^ *```.*?^ *```\s*$)", re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = _expanded(config.nav)
    return config


def _expanded(nav: Any) -> Any:
    if isinstance(nav, list):
        return [part for item in nav for part in _parts(item)]
    return {name: _expanded(item) for name, item in nav.items()} if isinstance(nav, dict) else nav


def _parts(item: Any) -> list[Any]:
    if not isinstance(item, str) or not item.endswith("/*"):
        return [_expanded(item)]
    folder = item.removesuffix("/*")
    base = ROOT / folder if folder.startswith("examples") else ROOT / "docs" / folder
    pages = sorted(base.rglob("*.md"), key=lambda page: (page.parent, page.name != "README.md", page.name))
    return [f"{folder}/{page.relative_to(base).as_posix()}" for page in pages]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    added = {place: ROOT / name for name, place in _AT_ROOT.items()}
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            added[path.relative_to(ROOT).as_posix()] = path
    for place, path in added.items():
        files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    source = Path(page.file.abs_src_path or ROOT / "README.md")

    def follow(match: re.Match[str]) -> str:
        target, hash_sign, anchor = match["target"].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        place = _place(Path(os.path.normpath(source.parent / target)))
        if place is None:
            return match["text"]
        there = os.path.relpath(place, Path(page.file.src_uri).parent)
        return f"[{match['text']}]({there}{hash_sign}{anchor})"

    parts = _FENCE.split(_NAMED_FENCE.sub(r'\g<fence> title="\g<name>"', markdown))
    return "".join(part if index % 2 else _LINK.sub(follow, part) for index, part in enumerate(parts))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fail where a fence was not read as code: its lines would be shown as text."""
    if _LITERAL_FENCE.search(html):
        raise PluginError(
            f"{page.file.src_uri}: a fence (```) is not code; is there more than a name after its language?"
        )
    return html


def _place(path: Path) -> str | None:
    """Return where a file of the repository is on the site; None if it is not there."""
    if path.is_dir():
        path = path / "README.md"
    if not path.is_relative_to(ROOT) or (not path.exists() and path.name == "README.md"):
        return None
    name = path.relative_to(ROOT).as_posix()
    if name in _AT_ROOT or name.startswith("examples/"):
        return _AT_ROOT.get(name, name)
    return name.removeprefix("docs/") if name.startswith("docs/") else None

"""docs/api.md has every resource, with its names, verbs and subresources, and no other."""

import re
from pathlib import Path

from moorage.model.kinds import STANDARD_VERBS
from moorage.serve.resources.served import RESOURCES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
ROW = re.compile(r"^\| (\w+) \| `([a-z0-9./]+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|", re.MULTILINE)
VERBS = {"all": set(STANDARD_VERBS), "all but deletecollection": set(STANDARD_VERBS) - {"deletecollection"}}


def _names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_resource_is_in_the_table_as_it_is() -> None:
    told = {
        (kind, group): (_names(names), VERBS.get(verbs, set(verbs.split(", "))), set(_names(subresources)))
        for kind, group, names, verbs, subresources in ROW.findall(PAGE.read_text(encoding="utf-8"))
    }
    there = {
        (resource.name, resource.api_version): (
            [resource.plural, *resource.short_names],
            set(resource.verbs),
            {sub.name for sub in resource.subresources},
        )
        for resource in RESOURCES.values()
    }
    assert told == there

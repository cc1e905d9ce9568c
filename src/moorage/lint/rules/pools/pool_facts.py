"""Say what the linter reads of a pool: its taints, the labels that its nodes will have, and where it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from moorage.lint.finding import SourcePlace
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.node import Taint
from moorage.pools.documents import NodePool
from moorage.pools.node_template import Pool

if TYPE_CHECKING:
    from moorage.model.text.documents import Document


class PoolFacts(msgspec.Struct, frozen=True):
    """What is known of a pool: its taints, the labels that its nodes will have, and where it is written."""

    kind: str
    name: str
    taints: tuple[Taint, ...]
    labels: frozenset[str]
    place: SourcePlace
    pool: Pool | None = None

    @property
    def title(self) -> str:
        return f"{self.kind} {self.name}"


def facts_of_pool(pool: Pool, place: SourcePlace | None) -> PoolFacts:
    template = pool.templates[0]
    labels = frozenset(key for one in pool.templates for key in one.labels)
    where = place or SourcePlace(*pool.place, object=f"{pool.kind} {pool.name}")
    return PoolFacts(pool.kind, pool.name, template.taints, labels, where, pool)


def facts_of_node_pool(document: Document, place: SourcePlace) -> PoolFacts | None:
    """Return what a NodePool says by itself, without instance types; None if it cannot be read."""
    try:
        view = convert_view(document.raw, NodePool)
    except ConversionError:
        return None
    template = view.spec.template
    labels = frozenset((*template.metadata.labels, *(one.key for one in template.spec.requirements)))
    return PoolFacts("NodePool", view.metadata.name, template.spec.taints, labels, place)

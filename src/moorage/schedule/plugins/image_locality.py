"""ImageLocality: prefer nodes that already have the pod's images, the more so the larger they are.

An image counts with its size, scaled down by how few nodes have it, so that not all pods follow the first one. 23 MiB
and less score 0, 1000 MiB a container and more score 100.
Kubernetes: pkg/scheduler/framework/plugins/imagelocality.
Differs: an image is as large as the node says that has it; Kubernetes believes the first node that had it.
"""

from typing import Any

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.schedule.framework.plugin import MAX_SCORE, Mask, Plugin, Prepared, Scores

_MIB = 1024 * 1024
_LEAST = 23 * _MIB
_MAX_PER_CONTAINER = 1000 * _MIB


class _Want(msgspec.Struct, eq=False):
    """The images, one for each container and image volume, and the sum that scores 100."""

    images: tuple[str, ...]
    most: int


class ImageLocality(Plugin[_Want]):
    """The ImageLocality plugin."""

    name = "ImageLocality"
    answers_by_needs = True
    reads_pods = False

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        mounted = (volume.image.reference for volume in shape.spec.volumes if volume.image is not None)
        images = tuple(full_name(image) for image in (*shape.images, *mounted))
        return Prepared(_Want(images, _MAX_PER_CONTAINER * max(len(shape.images), 1)))

    def epoch(self, want: _Want, cluster: Cluster) -> Any:
        """An image's score depends on how many nodes have it, and on how many nodes there are."""
        images = cluster.nodes.images
        spread = [len(images[name]) for name in want.images if images.get(name)]
        return (len(cluster.nodes), *spread) if spread else ()

    def score(self, want: _Want, cluster: Cluster, feasible: Mask) -> Scores:
        nodes = cluster.nodes
        sums = np.zeros(nodes.slots.capacity, np.int64)
        for name in want.images:
            sizes = nodes.images.get(name)
            if sizes:
                slots = np.fromiter(sizes, np.int64, len(sizes))
                spread = len(sizes) / len(nodes)
                sums[slots] += (np.fromiter(sizes.values(), np.int64, len(sizes)) * spread).astype(np.int64)
        return (np.clip(sums, _LEAST, want.most) - _LEAST) * MAX_SCORE // (want.most - _LEAST)

    def score_slot(self, want: _Want, cluster: Cluster, slot: int) -> int:
        nodes = cluster.nodes
        total = 0
        for name in want.images:
            sizes = nodes.images.get(name)
            if sizes and slot in sizes:
                total += int(sizes[slot] * (len(sizes) / len(nodes)))
        return (min(max(total, _LEAST), want.most) - _LEAST) * MAX_SCORE // (want.most - _LEAST)


def full_name(image: str) -> str:
    """Return the name with a tag, as nodes report it."""
    return f"{image}:latest" if image.rfind(":") <= image.rfind("/") else image

"""GpuFragmentation: place pods where they leave the fewest GPU parts that later pods cannot use.

What is free on a node is of no use to a class of pods if its CPU, or its part of a GPU, does not fit any more. The
score is by how much a pod would make that worse, over the classes that are expected, each weighted by its share. The
idea is that of "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent".
"""

import msgspec
import numpy as np

from moorage.schedule.framework import Cluster, Normalization, Plugin, Prepared, Shape

CPU = "cpu"


class PodClass(msgspec.Struct, frozen=True):
    """Pods that are expected: what one needs of CPU and of the resource, and how many of them there are."""

    cpuMilli: int
    gpuMilli: int
    share: float = 1.0


class GpuFragmentationArgs(msgspec.Struct, frozen=True):
    """The plugin's arguments in `pluginConfig`: the resource that has parts of GPUs, and the classes of pods."""

    classes: tuple[PodClass, ...]
    resource: str = "example.com/gpu-milli"


class GpuFragmentation(Plugin[tuple[int, int]]):
    """Scores a node by how little a pod increases what no later pod can use there."""

    name = "GpuFragmentation"
    args_type = GpuFragmentationArgs
    normalization = Normalization.DOWN  # the lowest raw score becomes 100

    def __init__(self, args: GpuFragmentationArgs) -> None:
        if not args.classes:
            raise ValueError("classes must not be empty")
        self._resource = args.resource
        self._cpus = np.array([one.cpuMilli for one in args.classes], np.int64)
        self._gpus = np.array([one.gpuMilli for one in args.classes], np.int64)
        shares = np.array([one.share for one in args.classes], np.float64)
        self._shares = shares / shares.sum()

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        """Keep what a pod takes of CPU and GPUs."""
        return Prepared((shape.requests.get(CPU, 0), shape.requests.get(self._resource, 0)), filters=False)

    def score_slot(self, want: tuple[int, int], cluster: Cluster, slot: int) -> int:
        cpu = int(cluster.nodes.free(CPU)[slot])
        gpu = int(cluster.nodes.free(self._resource)[slot])
        needed_cpu, needed_gpu = want
        increase = self.unusable(cpu - needed_cpu, gpu - needed_gpu) - self.unusable(cpu, gpu)
        return max(round(increase + needed_gpu), 0)  # it lessens by no more than the pod takes

    def unusable(self, cpu: int, gpu: int) -> float:
        """Return what of the free GPUs a later pod cannot use, on average over the classes."""
        if gpu <= 0:
            return 0.0
        no_room = (self._cpus > cpu) | (self._gpus > gpu)
        return float(gpu * self._shares[no_room].sum())

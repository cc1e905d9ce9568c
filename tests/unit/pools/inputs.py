"""Read pools from texts, for tests of pools."""

import json
from collections.abc import Mapping
from functools import partial
from io import BytesIO
from typing import Any

from moorage.pools.reading import Pools, read_pools


def read(*texts: str) -> Pools:
    """Return what is read from files with these contents, which are called `1`, `2`, …"""
    return read_pools((str(number), partial(BytesIO, text.encode())) for number, text in enumerate(texts, 1))


def instance_types(*types: Mapping[str, Any]) -> str:
    return json.dumps(types)


def instance_type(
    name: str, cpu: str = "4", memory: str = "8Gi", arch: str = "amd64", **prices: Mapping[str, float]
) -> dict[str, Any]:
    """Return an instance type that is offered at a price for each way of buying it and each zone."""
    offerings = [
        {
            "Price": price,
            "Available": True,
            "Requirements": [
                {"key": "karpenter.sh/capacity-type", "operator": "In", "values": [way.replace("_", "-")]},
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]},
            ],
        }
        for way, zones in prices.items()
        for zone, price in zones.items()
    ]
    resources = {"cpu": cpu, "memory": memory, "pods": "20"}
    made = {"name": name, "offerings": offerings, "architecture": arch, "operatingSystems": ["linux"]}
    return {**made, "resources": resources}


SMALL = instance_type("c.large", spot={"a": 0.03, "b": 0.04}, on_demand={"a": 0.1})
BIG = instance_type("m.2xlarge", "16", "64Gi", spot={"a": 0.2}, on_demand={"a": 0.5, "b": 0.5})
ARM = instance_type("g.large", "4", "8Gi", "arm64", spot={"a": 0.02})
TYPES = instance_types(SMALL, BIG, ARM)


def node_pool(requirements: str = "[]", name: str = "pool", more: str = "", spec: str = "") -> str:
    """Return a NodePool; `more` is below its node's spec, `spec` below its own."""
    return f"""
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  {spec or "weight: 1"}
  template:
    spec:
      nodeClassRef: {{group: x, kind: X, name: x}}
      {more or "startupTaints: []"}
      requirements: {requirements}
"""


def names(pools: Pools) -> list[str]:
    return sorted(template.name for pool in pools.pools for template in pool.templates)


def reasons(pools: Pools) -> list[str]:
    return [problem.reason for problem in pools.problems]

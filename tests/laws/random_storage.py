"""Random storage: a few nodes, disks that one or some or all of them reach, claims in every state, and what happens.

`World.step` lets one random thing happen to a cluster, in the objects as well as in the columns, so that `rebuilt` can
make the same cluster anew.
"""

from random import Random
from typing import Any

from tests.unit.schedule.clusters import node
from tests.unit.schedule.storage_objects import (
    HOST,
    attachment,
    claim,
    csi_node,
    csi_volume,
    local_volume,
    reachable_from,
    storage_class,
    user,
    volume,
)

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.storage import StorageObject
from moorage.model.types.pod import Pod

ZONE = "topology.kubernetes.io/zone"
AWS = "kubernetes.io/aws-ebs"
EBS = "ebs.csi.aws.com"
NAMES = [f"c{i}" for i in range(6)]
NODES = ["a", "b", "c", "d"]


def random_volume(random: Random) -> StorageObject:
    name = random.choice(["v0", "v1", "v2", "v3", "v4", "v5"])
    size = random.choice(["1Gi", "2Gi", "5Gi"])
    more: dict[str, Any] = {"size": size, "storage_class": random.choice(["slow", "slow", "made"])}
    if random.random() < 0.2:
        more["claimRef"] = {"namespace": "default", "name": random.choice(NAMES)}
    zone = {ZONE: random.choice(["1", "2", "1__2"])} if random.random() < 0.3 else {}
    which = random.randrange(5)
    if which == 0:
        return local_volume(name, *random.sample(NODES, random.randint(1, 2)), **more)
    if which == 1:
        return volume(name, labels=zone, nodeAffinity=reachable_from(ZONE, random.choice(["1", "2"])), **more)
    if which == 2:
        return csi_volume(name, random.choice(["h0", "h1", name]), labels=zone, **more)
    if which == 3:
        return volume(name, labels=zone, awsElasticBlockStore={"volumeID": random.choice(["vol-0", "vol-1"])}, **more)
    return volume(name, labels=zone, **more)


def random_claim(random: Random) -> StorageObject:
    bound = random.choice(["", "", "v0", "v1", "v2", "gone"])
    more: dict[str, Any] = {"size": random.choice(["1Gi", "2Gi", "3Gi"])}
    more["modes"] = random.choice([["ReadWriteOnce"], ["ReadWriteOnce"], ["ReadWriteOncePod"]])
    if random.random() < 0.1:
        more["metadata"] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    if random.random() < 0.1:
        more["annotations"] = {}
    return claim(random.choice(NAMES), bound, random.choice(["slow", "slow", "made", ""]), **more)


def random_thing(random: Random) -> StorageObject:
    which = random.randrange(8)
    if which <= 2:
        return random_volume(random)
    if which <= 5:
        return random_claim(random)
    if which == 6:
        limits = {"disk": random.randint(0, 2), EBS: random.randint(0, 2)}
        return csi_node(random.choice(NODES), random.choice(["", AWS]), **limits)
    if random.random() < 0.5:
        return attachment(random.choice(["x", "y"]), random.choice(NODES), random.choice(["v0", "v1"]))
    topology = [{"matchLabelExpressions": [{"key": ZONE, "values": ["1"]}]}]
    return random.choice(
        [
            storage_class(),
            storage_class("made", random.choice(["disk.example.com", AWS])),
            storage_class("made", "disk.example.com", allowedTopologies=topology),
        ]
    )


def random_pod(random: Random, name: str) -> Pod:
    claims = random.sample(NAMES, random.choice([1, 1, 1, 2, 3]))
    inline = [{"name": "i", "awsElasticBlockStore": {"volumeID": "vol-0"}}] if random.random() < 0.2 else []
    return user(*claims, name=name, volumes=inline)


class World:
    """A cluster, and the objects it was made of."""

    def __init__(self, random: Random, cluster: Cluster | None = None) -> None:
        self.random = random
        self.cluster = cluster or Cluster()
        self.things: dict[tuple[type, str], StorageObject] = {}
        self.count = 0
        for name in NODES[:3]:
            self.add_node(name)
        self.set(storage_class())
        self.set(storage_class("made", "disk.example.com"))
        for _ in range(12):
            self.set(random_thing(random))

    def set(self, thing: StorageObject) -> None:
        self.things[type(thing), thing.metadata.name] = thing
        self.cluster.storage.set(thing)

    def add_node(self, name: str) -> None:
        labels = {HOST: name, ZONE: self.random.choice(["1", "2"])}
        self.cluster.add_node(node(name, labels=labels))

    def record(self) -> PodRecord:
        self.count += 1
        pod = random_pod(self.random, f"p{self.count}")
        return self.cluster.record(f"default/{pod.metadata.name}", pod)

    def step(self) -> None:
        """Something happens."""
        random, cluster = self.random, self.cluster
        which = random.randrange(10)
        if which <= 3:
            self.set(random_thing(random))
        elif which == 4 and self.things:
            cluster.storage.remove(self.things.pop(random.choice(list(self.things))))
        elif which <= 7 and len(cluster.nodes):
            cluster.add_pod(self.record(), random.choice(list(cluster.nodes.slot_of.values())))
        elif which == 8 and cluster.pods:
            cluster.remove_pod(cluster.pods[random.choice(list(cluster.pods))])
        else:
            name = random.choice(NODES)
            if name in cluster.nodes.slot_of:
                cluster.remove_node(name)
            else:
                self.add_node(name)

    def rebuilt(self) -> Cluster:
        """The same cluster, made at once."""
        fresh = Cluster()
        for _, one in self.cluster.nodes:
            fresh.add_node(one)
        for thing in self.things.values():
            fresh.storage.set(thing)
        for record in self.cluster.pods.values():
            host = self.cluster.nodes.node(record.slot).metadata.name
            fresh.add_pod(fresh.record(record.key, record.pod), fresh.nodes.slot_of[host])
        return fresh

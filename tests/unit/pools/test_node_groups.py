import json
from typing import Any

import pytest
from tests.unit.pools.inputs import TYPES, names, read


def _group(spec: str, name: str = "gpu") -> str:
    return f"apiVersion: capacity.moorage.dev/v1\nkind: NodeGroup\nmetadata: {{name: {name}}}\nspec: {spec}\n"


_CAPACITY = "status: {capacity: {cpu: 4, memory: 16Gi, nvidia.com/gpu: 1}}"


def _cloud(tags: dict[str, str], **fields: Any) -> str:
    group = {"AutoScalingGroupName": "asg", "MinSize": 1, "MaxSize": 9, "AvailabilityZones": ["a", "b"], **fields}
    return json.dumps({"AutoScalingGroups": [{**group, "Tags": [{"Key": k, "Value": v} for k, v in tags.items()]}]})


_NODE = f"template: {{{_CAPACITY}}}"
_SMALL = [{"InstanceType": "c.large"}]
_PREFIX = "k8s.io/cluster-autoscaler/node-template"


def test_a_group_has_a_template_for_each_zone() -> None:
    taints = "spec: {taints: [{key: gpu, effect: NoSchedule}]}"
    text = f"{{maxSize: 5, price: 0.91, zones: [a, b], template: {{{taints}, {_CAPACITY}}}}}"
    [pool] = read(_group(text)).pools
    assert (pool.least, pool.most) == (0, 5)
    assert [(template.name, template.price) for template in pool.templates] == [("gpu/a", 0.91), ("gpu/b", 0.91)]
    assert pool.templates[1].labels["topology.kubernetes.io/zone"] == "b"
    assert {name: str(amount) for name, amount in pool.templates[0].allocatable.items()} == {
        "pods": "110",
        "cpu": "4",
        "memory": "16Gi",
        "nvidia.com/gpu": "1",
    }


def test_a_group_of_an_instance_type_has_its_resources_and_price() -> None:
    [pool] = read(_group("{instanceType: c.large, capacityType: spot, zones: [a, b, c]}"), TYPES).pools
    assert [template.price for template in pool.templates] == [0.03, 0.04, None]
    assert str(pool.templates[0].allocatable["cpu"]) == "3900m"


def test_a_group_of_a_cloud_is_read_by_its_tags() -> None:
    tags = {
        f"{_PREFIX}/label/team": "x",
        f"{_PREFIX}/taint/spot": "950:NoSchedule",
        f"{_PREFIX}/resources/nvidia.com/gpu": "2",
        "capacity.moorage.dev/price": "0.2",
        "Name": "something else",
    }
    overrides = {"LaunchTemplate": {"Overrides": [{"InstanceType": "m.2xlarge"}]}}
    [pool] = read(_cloud(tags, MixedInstancesPolicy=overrides), TYPES).pools
    assert names(read(_cloud(tags, MixedInstancesPolicy=overrides), TYPES)) == [
        "m.2xlarge/a/on-demand",
        "m.2xlarge/b/on-demand",
    ]
    template = pool.templates[0]
    assert (template.labels["team"], str(template.capacity["nvidia.com/gpu"]), template.price) == ("x", "2", 0.2)
    assert [(taint.key, taint.value, taint.effect) for taint in template.taints] == [("spot", "950", "NoSchedule")]


def test_a_group_without_machines_on_demand_is_spot() -> None:
    share = {"OnDemandBaseCapacity": 0, "OnDemandPercentageAboveBaseCapacity": 0}
    policy = {"LaunchTemplate": {"Overrides": [{"InstanceType": "c.large"}]}, "InstancesDistribution": share}
    [pool] = read(_cloud({}, MixedInstancesPolicy=policy), TYPES).pools
    assert [(template.capacity_type, template.price) for template in pool.templates] == [("spot", 0.03), ("spot", 0.04)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            _group(f"{{minSize: 3, maxSize: 2, {_NODE}}}"),
            "spec.maxSize: Invalid value: 2: must not be less",
        ),
        (
            _group(f"{{minSize: -3, {_NODE}}}"),
            "spec.minSize: Invalid value: -3: must not be negative",
        ),
        (
            _group(f"{{price: -0.1, {_NODE}}}"),
            "spec.price: Invalid value: -0.1: must not be negative",
        ),
        (
            _group("{instanceType: none.large}"),
            'spec.instanceType: Not found: "none.large": not',
        ),
        (_group("{maxSize: 2}"), "spec.template.status.capacity: Required value"),
        (_group(f"{{template: {{metadata: {{labels: {{a b: c}}}}, {_CAPACITY}}}}}"), "spec.template.metadata.labels"),
        (_cloud({f"{_PREFIX}/taint/x": "NoSchedule"}, Instances=_SMALL), "must be VALUE:EFFECT"),
        (
            _cloud({f"{_PREFIX}/resources/x": "many"}, Instances=_SMALL),
            "AutoScalingGroups[0].Tags[0].Value",
        ),
        (
            _cloud({"capacity.moorage.dev/price": "nan"}, Instances=_SMALL),
            "must be the price of an hour",
        ),
        (_cloud({}), "AutoScalingGroups[0].InstanceType: Not found"),
        (
            _cloud({}, MaxSize=0, Instances=_SMALL),
            "MaxSize: Invalid value: 0: must not be less than 1",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_path(text: str, reason: str) -> None:
    pools = read(text, TYPES)
    assert not pools.pools
    assert len(pools.problems) == 1
    assert reason in pools.problems[0].reason

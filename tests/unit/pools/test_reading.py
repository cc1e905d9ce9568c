import pytest
from tests.unit.pools.inputs import SMALL, TYPES, instance_types, node_pool, read, reasons

from moorage.pools.node_template import Buffer
from moorage.pools.overlays import adjusted_price
from moorage.pools.reading import read_pools


def _overlay(spec: str, name: str = "o") -> str:
    return f"apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {{name: {name}}}\nspec: {spec}\n"


_RESOURCES = '"resources": {"cpu": "1", "memory": "1Gi"}'
_SPOT = "requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]"


@pytest.mark.parametrize(
    ("overlays", "prices"),
    [
        ([f"{{{_SPOT}, price: '1.5'}}"], [1.5, 1.5, 0.1]),
        ([f"{{{_SPOT}, priceAdjustment: '+10%'}}"], [0.033, 0.044, 0.1]),
        ([f"{{{_SPOT}, priceAdjustment: '-0.01'}}"], [0.02, 0.03, 0.1]),
        ([f"{{{_SPOT}, priceAdjustment: '-1'}}"], [0.0, 0.0, 0.1]),
        (["{priceAdjustment: '+1', weight: 2}", f"{{{_SPOT}, price: '5', weight: 3}}"], [5.0, 5.0, 1.1]),
        (["{price: '1'}", "{price: '2'}"], [2.0, 2.0, 2.0]),  # of equal weights the last name decides
        (["{requirements: [{key: nowhere, operator: DoesNotExist}], price: '7'}"], [7.0, 7.0, 7.0]),
        (["{requirements: [{key: nowhere, operator: In, values: [x]}], price: '7'}"], [0.03, 0.04, 0.1]),
    ],
)
def test_overlays_change_prices(overlays: list[str], prices: list[float]) -> None:
    texts = (_overlay(spec, f"o{number}") for number, spec in enumerate(overlays))
    [pool] = read(*texts, node_pool(), instance_types(SMALL)).pools
    assert [template.price for template in pool.templates] == pytest.approx(prices)


def test_overlays_add_resources_and_replace_none() -> None:
    [pool] = read(_overlay("{capacity: {example.com/x: 2}}"), node_pool(), instance_types(SMALL)).pools
    assert str(pool.templates[0].allocatable["example.com/x"]) == "2"
    assert reasons(read(_overlay("{capacity: {cpu: 2}}"))) == [
        "spec.capacity[cpu]: Forbidden: invalid resource restricted"
    ]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("{price: '1', priceAdjustment: '+1'}", "cannot set both 'price' and 'priceAdjustment'"),
        ("{price: cheap}", "spec.price: Invalid value"),
        ("{priceAdjustment: '5'}", "spec.priceAdjustment: Invalid value"),
        ("{weight: 0}", "spec.weight: Invalid value: 0: must be from 1 to 10,000"),
    ],
)
def test_overlays_that_are_refused(spec: str, reason: str) -> None:
    assert reason in reasons(read(_overlay(spec)))[0]


def test_a_change_of_an_unknown_price_is_unknown() -> None:
    assert adjusted_price("+10%", None) is None
    assert adjusted_price("3", None) == 3


def test_buffers() -> None:
    text = """
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: room, namespace: shop}
spec: {scalableRef: {apiGroup: apps, kind: Deployment, name: web}, percentage: 20}
"""
    [buffer] = read(text).buffers
    assert isinstance(buffer, Buffer)
    assert (buffer.namespace, buffer.workload_kind, buffer.workload, buffer.percentage) == (
        "shop",
        "Deployment",
        "web",
        20,
    )


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("{}", "exactly one of podTemplateRef and scalableRef"),
        ("{podTemplateRef: {name: a}}", "replicas or limits must be set"),
        ("{podTemplateRef: {name: a}, replicas: -1}", "spec.replicas: Invalid value: -1"),
        ("{scalableRef: {kind: Deployment}}", "spec.scalableRef.name: Required value"),
        ("{podTemplateRef: {name: a}, replicas: 1, percentage: 5}", "a percentage is one of the replicas"),
    ],
)
def test_buffers_that_are_refused(spec: str, reason: str) -> None:
    text = f"apiVersion: autoscaling.x-k8s.io/v1alpha1\nkind: CapacityBuffer\nmetadata: {{name: b}}\nspec: {spec}\n"
    assert reason in reasons(read(text))[0]


def test_other_objects_are_passed_over_and_the_order_of_files_does_not_matter() -> None:
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n---\nsome: values\n"
    for texts in ((TYPES, node_pool(), other), (other, node_pool(), TYPES)):
        pools = read(*texts)
        assert (len(pools.pools), pools.problems) == (1, [])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1", "not JSON: Input data was truncated"),
        ("[1]", "neither a list of instance types"),
        (
            f'[{{"name": "a", "offerings": [{{"Price": -1}}], {_RESOURCES}}}]',
            "[0].offerings[0].Price",
        ),
        (
            f'[{{"name": "a", "offerings": [], {_RESOURCES}}}]',
            "[0].offerings: Required value",
        ),
        ('[{"name": 3, "offerings": []}]', "[0].name: json: cannot unmarshal number"),
        ("{", ""),
        ("a: [b", ""),
    ],
)
def test_files_that_cannot_be_read(text: str, reason: str) -> None:
    [problem] = read(text).problems
    assert reason in problem.reason


def test_an_instance_type_is_there_once() -> None:
    assert reasons(read(instance_types(SMALL, SMALL))) == ['[1].name: Duplicate value: "c.large"']


def test_a_missing_file_is_a_problem() -> None:
    def missing() -> None:
        raise FileNotFoundError(2, "No such file or directory")

    [problem] = read_pools([("pools.yaml", missing)]).problems  # type: ignore[list-item]
    assert str(problem) == "pools.yaml: No such file or directory"

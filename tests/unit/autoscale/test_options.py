import pytest

from moorage.autoscale.options import ClusterAutoscalerOptions, KarpenterOptions, OptionError, read_options
from moorage.pools.node_template import Scaler


def test_defaults_are_those_of_the_autoscalers() -> None:
    options = read_options(Scaler.CLUSTER_AUTOSCALER)
    assert isinstance(options, ClusterAutoscalerOptions)
    assert (options.expander, options.scale_down_unneeded_time, options.scan_interval) == ("least-waste", 600.0, 10.0)
    assert options.scale_down_utilization_threshold == 0.5
    settings = read_options(Scaler.KARPENTER)
    assert isinstance(settings, KarpenterOptions)
    assert (settings.batch_idle_duration, settings.batch_max_duration) == (1.0, 10.0)


def test_values_are_read_by_their_types() -> None:
    words = ["--scale-down-unneeded-time=5m", "expander=price,random", "max-nodes-total=7", "scale-down-enabled=false"]
    options = read_options(Scaler.CLUSTER_AUTOSCALER, [*words, "scale-down-utilization-threshold=0.65"])
    assert isinstance(options, ClusterAutoscalerOptions)
    assert options.scale_down_unneeded_time == 300.0
    assert options.expander == "price,random"
    assert options.max_nodes_total == 7
    assert options.scale_down_enabled is False
    assert options.scale_down_utilization_threshold == 0.65


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("scale-down-unneded-time=5m", "did you mean scale-down-unneeded-time?"),
        ("expander", "'expander' is not of the form NAME=VALUE"),
        ("expander=", "'expander=' is not of the form NAME=VALUE"),
        ("expander=cheapest", "'cheapest' is not one of least-waste"),
        ("scale-down-unneeded-time=5", "is not a duration such as 10m"),
        ("scale-down-unneeded-time=-5m", "is not a duration such as 10m"),
        ("scan-interval=0s", "scan-interval must be at least 1s"),
        ("max-nodes-total=x", "is not a number"),
        ("max-nodes-total=-1", "max-nodes-total must not be negative"),
        ("scale-down-enabled=yes", "is not true or false"),
        ("scale-down-utilization-threshold=1.5", "is not a share from 0 to 1"),
        ("batch-idle-duration=1s", "cluster-autoscaler has no option"),
    ],
)
def test_what_is_wrong_is_one_line(word: str, text: str) -> None:
    with pytest.raises(OptionError) as raised:
        read_options(Scaler.CLUSTER_AUTOSCALER, [word])
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)

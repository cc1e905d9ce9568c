"""Configuration files in few words, and what comes of them."""

from typing import Any

import pytest

from moorage.model.gates import GateSet, default_gates
from moorage.schedule.config.configuration import load_configuration
from moorage.schedule.config.configured_scheduler import Configuration, ConfigurationError, ConfiguredProfile

Raw = dict[str, Any]


def document(**fields: Any) -> Raw:
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", **fields}


def configuration(gates: GateSet | None = None, **fields: Any) -> Configuration:
    return load_configuration(document(**fields), "config", gates or default_gates())


def profile(plugins: Raw | None = None, **args: Raw) -> ConfiguredProfile:
    """The only profile of a file that has these plugins, and arguments by plugin."""
    return configuration(profiles=[profile_fields(plugins, **args)]).profiles[0]


def profile_fields(plugins: Raw | None = None, **args: Raw) -> Raw:
    given = [{"name": name, "args": value} for name, value in args.items()]
    return {"plugins": plugins or {}, "pluginConfig": given}


def named(*names: str) -> list[Raw]:
    return [{"name": name} for name in names]


def problems(gates: GateSet | None = None, **fields: Any) -> list[str]:
    """Everything that is wrong with a file of these fields."""
    return problems_of(document(**fields), gates)


def problems_of(given: bytes | Raw, gates: GateSet | None = None) -> list[str]:
    with pytest.raises(ConfigurationError) as error:
        load_configuration(given, "config", gates or default_gates())
    return [str(problem).removeprefix("config: ") for problem in error.value.problems]

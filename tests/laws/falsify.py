"""A law that cannot fail proves nothing: every law here is also run on something broken, and must notice.

Every run of the suite takes a third of a law's examples, but not less than fifteen or half of them, the same ones each
time, and stops at the first that breaks it. With MOORAGE_LAWS=thorough (`make test-slow`) all of them are taken, and
what breaks a law is made as small as it can be.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.errors import Flaky

THOROUGH = os.environ.get("MOORAGE_LAWS") == "thorough"


def examples(many: int) -> int:
    """How many of a law's examples this run takes."""
    return many if THOROUGH else max(many // 3, min(many // 2, 15), 10)


LAW_SETTINGS = settings(
    max_examples=examples(150),
    deadline=None,
    database=None,
    derandomize=True,
    report_multiple_bugs=False,
    phases=(Phase.explicit, Phase.generate, *((Phase.shrink,) if THOROUGH else ())),
)
#: For laws about something broken: any example will do, and it is found long before they run out.
_GENERATE = (Phase.explicit, Phase.generate)
UNTIL_NOTICED = settings(LAW_SETTINGS, max_examples=300, phases=_GENERATE)
_SETTINGS = "_hypothesis_internal_use_settings"


def assert_notices(law: Callable[[], None]) -> None:
    """Assert that the law, bound to a deliberately broken implementation, finds a counterexample.

    Hypothesis takes some of its values from the constants of the modules that happen to be imported, so which examples
    come first differs with the tests run before. The search therefore goes on for much longer than a law's; it stops
    at the first counterexample. One that breaks the law only sometimes, because real time is part of it, counts too.
    """
    bound: Any = law
    if (usual := getattr(bound, _SETTINGS, None)) is not None:
        setattr(bound, _SETTINGS, settings(usual, max_examples=max(usual.max_examples * 20, 1000), phases=_GENERATE))
    try:
        with pytest.raises(AssertionError):
            law()
    except Flaky as sometimes:
        found = sometimes.exceptions if isinstance(sometimes, ExceptionGroup) else (sometimes,)
        assert any(isinstance(error, AssertionError) for error in found)

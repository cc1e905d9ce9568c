"""A law that cannot fail proves nothing: every law here is also run on something broken, and must notice."""

from collections.abc import Callable

import pytest
from hypothesis import Phase, settings

LAW_SETTINGS = settings(
    max_examples=150,
    deadline=None,
    database=None,
    derandomize=True,
    report_multiple_bugs=False,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)


def assert_notices(law: Callable[[], None]) -> None:
    """The law, bound to a deliberately broken implementation, finds a counterexample."""
    with pytest.raises(AssertionError):
        law()

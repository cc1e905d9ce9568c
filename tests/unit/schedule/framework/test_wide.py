"""Classes of slots with equal traits are the same, whether codes are marked or slots are sorted."""

import numpy as np
import pytest

from moorage.schedule.framework import wide


@pytest.mark.parametrize("spans", [(2, 3), (5, 4, 3), (1, 7), (90,), (1,)])
def test_classes_do_not_depend_on_how_they_are_found(spans: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(len(spans))
    traits = [random.integers(-1, span - 1, 40) for span in spans]
    marked = wide.distinct(traits, 40)
    monkeypatch.setattr(wide, "_FEW_CODES", 0)
    by_sorting = wide.distinct(traits, 40)
    for found, expected in zip(marked, by_sorting, strict=True):
        assert found.tolist() == expected.tolist()

"""The cache of programs: what it keeps, what it counts, what it lets go."""

import threading

import pytest

from moorage.match.cel import Program
from moorage.match.tolerations import ProgramCache


def test_a_text_is_compiled_once() -> None:
    cache = ProgramCache()
    first = cache.get("taint.key == 'a'")
    assert isinstance(first, Program)
    assert cache.get("taint.key == 'a'") is first
    assert (cache.hits, cache.misses, cache.evictions, len(cache)) == (1, 1, 0, 1)


def test_issues_are_kept_as_well() -> None:
    cache = ProgramCache()
    issues = cache.get("taint.nope")
    assert not isinstance(issues, Program)
    assert cache.get("taint.nope") is issues


def test_the_least_recently_used_goes_first() -> None:
    cache = ProgramCache(capacity=2)
    kept = cache.get("1 == 1")
    cache.get("2 == 2")
    cache.get("1 == 1")
    cache.get("3 == 3")
    assert cache.evictions == 1
    assert cache.get("1 == 1") is kept
    assert cache.misses == 3
    cache.get("2 == 2")
    assert cache.misses == 4
    assert len(cache) == 2


def test_cache_size_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least one"):
        ProgramCache(capacity=0)


def test_threads_may_share_it() -> None:
    cache = ProgramCache(capacity=4)
    failures: list[object] = []

    def work(start: int) -> None:
        for number in range(60):
            value = (start + number) % 7
            program = cache.get(f"size('{'a' * value}') == {value}")
            if not isinstance(program, Program) or program.run({}) is not True:
                failures.append(program)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(cache) <= 4
    assert cache.hits + cache.misses == 240

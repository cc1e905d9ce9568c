"""semver.json: parsing and comparing versions as blang/semver does."""

from typing import Any

from moorage.match.semver import SemverError, parse_tolerant


def check_semver(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]
    if given["op"] == "compare":
        cmp = parse_tolerant(given["a"]).compare(parse_tolerant(given["b"]))
        return None if cmp == want["cmp"] else f"compare({given['a']!r}, {given['b']!r}) = {cmp}, want {want['cmp']}"
    got: dict[str, Any]
    try:
        got = {"ok": True, "version": str(parse_tolerant(given["s"]))}
    except SemverError as error:
        got = {"ok": False, "error": str(error)}
    return None if got == want else f"parse({given['s']!r}) = {got}, want {want}"

"""Random CEL expressions for the laws: well-typed ones from a small grammar, and text made of CEL's own pieces."""

from hypothesis import strategies as st

_WORDS = ("", "a", "sla", "env.example.com/dev", "5.15.0", "zone-b1", "ключ", "gpu")
_INTS = ("0", "1", "-1", "7", "900", "9223372036854775807", "-9223372036854775808")


def _quoted(word: str) -> str:
    return f"'{word}'"


def texts() -> st.SearchStrategy[str]:
    """Expressions of type string."""
    leaves = st.sampled_from(("taint.key", "taint.value", "taint.effect", *map(_quoted, _WORDS)))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds("({} + {})".format, inner, inner),
            st.builds("({} == {} ? {} : {})".format, inner, inner, inner, inner),
            st.builds("string(size({}))".format, inner),
        ),
        max_leaves=4,
    )


def numbers() -> st.SearchStrategy[str]:
    """Expressions of type int, which may overflow or divide by zero."""
    leaves = st.one_of(
        st.sampled_from((*_INTS, "[1, 2, 3][1]")),
        texts().map("size({})".format),
        texts().map("int(taint.value + {})".format),
    )
    return st.recursive(
        leaves,
        lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(("+", "-", "*", "/", "%")), inner),
        max_leaves=4,
    )


def predicates() -> st.SearchStrategy[str]:
    """Expressions of type bool."""
    comparison = st.sampled_from(("==", "!=", "<", "<=", ">", ">="))
    leaves = st.one_of(
        st.builds("{} {} {}".format, texts(), comparison, texts()),
        st.builds("{} {} {}".format, numbers(), comparison, numbers()),
        st.builds("{}.contains({})".format, texts(), texts()),
        st.builds("{} in [{}, {}]".format, texts(), texts(), texts()),
        st.builds("{}.matches({})".format, texts(), st.sampled_from(("'^zone'", "'[a-z]+$'", "''"))),
        st.builds("[{}, {}].exists(x, x == {})".format, texts(), texts(), texts()),
        st.builds("[{}, {}].all(x, size(x) > {})".format, texts(), texts(), numbers()),
        st.builds("[{}, {}, {}].filter(n, n > 0).size() == {}".format, numbers(), numbers(), numbers(), numbers()),
        st.builds("[{}, {}].map(n, n * 2)[0] == {}".format, numbers(), numbers(), numbers()),
        st.builds("[{}, {}].exists_one(n, n == {})".format, numbers(), numbers(), numbers()),
        st.builds("{{'a': {}}}['a'] == {}".format, numbers(), numbers()),
        st.builds("has({{'a': {}}}.b)".format, numbers()),
        st.sampled_from(("true", "false")),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds("({} && {})".format, inner, inner),
            st.builds("({} || {})".format, inner, inner),
            st.builds("({} ? {} : {})".format, inner, inner, inner),
            st.builds("!({})".format, inner),
        ),
        max_leaves=4,
    )


_PIECES = (
    *"()[]{}.,?:!+-*/%<>=&|'\"`\\\n\t $#@",
    *(
        "==",
        "!=",
        "<=",
        ">=",
        "&&",
        "||",
        " in ",
        "taint",
        "taint.key",
        "true",
        "null",
        "for",
        "1",
        "0x1F",
        "1u",
        "1.5",
    ),
    *("1e9", "'a'", '"b"', "b'c'", "r'\\d'", "'''x'''", "has(", "all(x,", "cel.bind(", "size(", "[1, 2]", "{'a': 1}"),
    *("lists.range(", "taint.?key", "[?", "\ud800", "é", "99999999999999999999", "\\u12", "//", ".map(", "orValue("),
)


def anything() -> st.SearchStrategy[str]:
    """Text that looks like CEL from afar, or does not."""
    return st.one_of(st.lists(st.sampled_from(_PIECES), max_size=25).map("".join), st.text(max_size=40), predicates())

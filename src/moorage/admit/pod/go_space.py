"""White space as Go's `strings.TrimSpace` knows it.

Python's `str.strip` also takes the separators U+001C to U+001F, which would call a name padded that Kubernetes accepts.
"""

_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)


def trim_space(text: str) -> str:
    return text.strip(_SPACE)

"""Name the Kubernetes version whose API, scheduler, controllers and kubelet Moorage behaves as."""

KUBERNETES_MAJOR, KUBERNETES_MINOR, KUBERNETES_PATCH = "1", "36", "4"
KUBERNETES_VERSION = f"v{KUBERNETES_MAJOR}.{KUBERNETES_MINOR}.{KUBERNETES_PATCH}"

#: The minor versions whose gates and served versions are known.
OLDEST_MINOR, NEWEST_MINOR = 29, int(KUBERNETES_MINOR)


def minor_version(text: str) -> int:
    """Return 33 for `1.33`, `v1.33` and `1.33.4`. Raises ValueError with the versions that are known."""
    major, dot, rest = text.strip().removeprefix("v").partition(".")
    minor = rest.partition(".")[0]
    if major == KUBERNETES_MAJOR and dot and minor.isascii() and minor.isdigit() and len(minor) < 4:
        number = int(minor)
        if OLDEST_MINOR <= number <= NEWEST_MINOR:
            return number
    known = ", ".join(f"1.{number}" for number in range(OLDEST_MINOR, NEWEST_MINOR + 1))
    raise ValueError(f"unknown Kubernetes version {text!r}; known versions: {known}")

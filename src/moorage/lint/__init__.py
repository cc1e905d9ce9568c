"""Find what the API server rejects, and valid manifests that behave unexpectedly."""

from moorage.callable_package import make_callable

make_callable(__name__, "moorage.library.checking.lint")

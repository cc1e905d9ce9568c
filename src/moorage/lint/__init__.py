"""What the API server would say about manifests, and what will surprise you although it says nothing."""

from moorage.callable_package import make_callable

make_callable(__name__, "moorage.library.checking.lint")

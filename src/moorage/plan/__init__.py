"""Manifests → placements and reasons: the offline composition of admission, columns and the scheduler."""

from moorage.callable_package import make_callable

make_callable(__name__, "moorage.library.planning.plan")

"""Turn a document into an admitted object: decode, default, mutate, validate, and check updates.

Next on the path of a pod: `moorage.lint` shows what admission would say; a store keeps what it admitted.
"""

from moorage.callable_package import make_callable

make_callable(__name__, "moorage.library.checking.admit")

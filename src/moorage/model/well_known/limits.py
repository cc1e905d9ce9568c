"""Name the limits of Kubernetes that several rooms have to keep."""

from typing import Final

#: The most bytes of an object that etcd stores: its limit for a request is 1.5 MiB, of which the key and the conditions
#: of the transaction take some.
MAX_OBJECT_BYTES: Final = 1536 * 1024 - 4 * 1024
#: The most bytes of a request that an API server reads, and of what expressions and patches make of it.
MAX_REQUEST_BYTES: Final = 3 * 1024 * 1024

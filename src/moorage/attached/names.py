"""Name the objects of an installation of attach, as its manifests, its components and its status call them."""

from typing import Final

from moorage.attach import formats

NAMESPACE: Final = "moorage-system"
#: The Service and the Deployment of the webhook, and the account of each component.
WEBHOOK: Final = formats.WEBHOOK
CONTROLLER: Final = "moorage-attach-controller"
#: The Secret with `tls.crt`, `tls.key` and `ca.crt`, in the layout of kubernetes.io/tls and cert-manager.
CERTIFICATES: Final = "moorage-attach-certificates"
#: Configurations and policies, which have no namespace.
LOWERING: Final = "lower.attach.moorage.dev"
MIRRORING: Final = "mirror.attach.moorage.dev"
#: The port that the webhook listens on, and the paths of its reviews.
WEBHOOK_PORT: Final = 9443
LOWER_PATH: Final = "/lower"
MIRROR_PATH: Final = "/mirror"
#: A namespace or object with this label and value is left alone.
EXEMPT_LABEL: Final = formats.EXEMPT

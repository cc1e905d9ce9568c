"""One way to talk to an API server, whether it is in this process or behind a kubeconfig.

`protocol` is all that the scheduler, the kubelets and the controllers know of the world; `in_process` and `http` are
its two transports, `informer` keeps what is watched. Kubernetes: client-go.
"""

"""Say where etcd is and how to speak to it. Kubernetes: the flags `--etcd-servers`, `--etcd-prefix`, `--etcd-cafile`.

Differs: a user and password of etcd's own authentication are possible besides client certificates.
"""

import msgspec


class EtcdSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`servers` are URLs such as https://10.0.0.1:2379, in the order in which they are tried."""

    servers: tuple[str, ...]
    prefix: str = "/registry"
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    username: str = ""
    password: str = ""
    #: Seconds between compactions of history; 0 for none.
    compaction_seconds: float = 300.0
    #: Seconds during which keys that expire get the same lease.
    lease_reuse_seconds: int = 60
    #: Seconds for a TCP connection, its TLS handshake and etcd's first answer.
    dial_seconds: float = 2.0
    #: Seconds for one call, all that is tried included.
    call_seconds: float = 5.0
    #: Seconds after which a read that is not answered is tried again, at another member if this one answers nothing.
    attempt_seconds: float = 2.5
    #: Every this many seconds a server is asked how it is.
    keepalive_seconds: float = 0.5
    #: After this many more without a byte from it, it is given up.
    keepalive_timeout: float = 1.5

    def __repr__(self) -> str:
        return f"EtcdSettings({','.join(self.servers)} {self.prefix})"

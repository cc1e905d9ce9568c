"""Speak with etcd: gRPC over HTTP/2 on asyncio's transports, and protobuf, without a library.

`frames` and `hpack` are HTTP/2's bytes, `streams`, `outbox` and `connection` its rules, `requests` and `answers` etcd's
messages, `dial` opens connections, `refusals` says what a refusal means. bench/README.md has the measurement that
decided for this. Kubernetes: grpc-go.
"""

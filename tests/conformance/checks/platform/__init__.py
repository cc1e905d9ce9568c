"""Vectors that were recorded request by request: a server without a wire, the steps of a case, their answers."""

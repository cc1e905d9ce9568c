"""Requests in protobuf.

Go clients, kubectl among them, send what they create as protobuf, and take JSON for an answer. `wire` reads the format,
`reader` knows the API's types, `field_numbers` has their numbers.
"""

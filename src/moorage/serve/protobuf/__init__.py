"""Requests in protobuf: `reader` reads them and has the numbers of the API's fields."""

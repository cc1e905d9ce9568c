"""Requests in protobuf: `reader` reads them, `field_numbers` has the numbers of the API's fields."""

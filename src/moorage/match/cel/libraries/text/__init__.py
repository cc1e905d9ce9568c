"""CEL functions on strings: the strings, format and regex libraries."""

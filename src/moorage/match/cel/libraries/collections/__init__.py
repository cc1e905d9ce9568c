"""CEL functions on lists: the lists and sets libraries."""

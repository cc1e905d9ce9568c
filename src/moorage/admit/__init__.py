"""A document → an admitted object: decode, default, mutate, validate, and the rules for updates.

Next on the path of a pod: `moorage.lint` shows what admission would say; a store keeps what it admitted.
"""

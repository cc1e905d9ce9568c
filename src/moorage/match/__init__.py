"""Does A accept B? Pure matchers, compiled once from what the user wrote, which then cannot fail.

Next on the path of a pod: `moorage.admit`, which compiles the same things to find out whether they are valid.
"""

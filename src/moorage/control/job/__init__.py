"""Jobs: pods that are meant to end.

`controller` decides, with `situation` for what is the case and `accounting` for what has been counted.
"""

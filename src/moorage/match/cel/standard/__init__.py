"""The standard library of CEL, as rows: operators, conversions, text, time, lists, maps and optionals."""

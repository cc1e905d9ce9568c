"""Write findings as text, JSON, SARIF, JUnit or GitHub annotations: `begin`, then `source` for each, then `end`."""

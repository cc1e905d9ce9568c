"""Say what simulated pods and nodes use: annotations with amounts, courses over time and loads, as metrics APIs."""

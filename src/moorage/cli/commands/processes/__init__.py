"""Run the parts of a control plane as processes of their own, and print the rights they need."""

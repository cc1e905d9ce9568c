"""Commands for the parts of a control plane as processes of their own, and the rights they need."""

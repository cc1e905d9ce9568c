"""Lower pods and mirror nodes in admission, for clusters that call webhooks: `moorage attach webhook`."""

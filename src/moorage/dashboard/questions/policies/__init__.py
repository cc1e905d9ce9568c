"""Questions about policies that are being written: `policies` and `policies-known`."""

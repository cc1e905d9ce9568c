"""The addresses behind Services: Endpoints, EndpointSlices, and slices made of Endpoints."""

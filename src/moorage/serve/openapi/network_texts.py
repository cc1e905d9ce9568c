"""What Endpoints and EndpointSlices and their fields mean, for `kubectl explain`; the format is that of `texts`."""

TEXTS = """
Endpoints: The addresses behind a service. EndpointSlices have taken their place.
  subsets: The addresses, grouped by the ports they have.
EndpointSubset: Addresses with the same ports.
  addresses: The addresses that are ready.
  notReadyAddresses: The addresses that are not ready.
  ports: The ports of every address.
EndpointAddress: One address.
  hostname: The name of the address in the service's domain.
  ip: The address.
  nodeName: The node of the pod.
  targetRef: The pod that has the address.
EndpointPort: A port of every address.
  appProtocol: The protocol that is spoken there, for programs that know it.
  name: The name of the port, as the service has it.
  port: The number of the port.
  protocol: TCP (the default), UDP or SCTP.
EndpointSlice: Some of the addresses behind a service.
  addressType: IPv4, IPv6 or FQDN.
  endpoints: The endpoints, at most 1000.
  ports: The ports of every endpoint.
Endpoint: A pod or another place that answers for a service.
  addresses: Its addresses, of which clients use the first.
  conditions: Whether it can be used.
  deprecatedTopology: Not in use any more.
  hints: Which clients should use it.
  hostname: Its name in the service's domain.
  nodeName: The node of the pod.
  targetRef: The pod that it is.
  zone: The zone of the node.
EndpointConditions: Whether an endpoint can be used.
  ready: Whether it takes new connections; never while its pod is being deleted, unless the service wants it so.
  serving: Whether its pod is ready, also while that is being deleted.
  terminating: Whether its pod is being deleted.
EndpointHints: Which clients should use an endpoint.
  forNodes: The nodes whose clients should use it.
  forZones: The zones whose clients should use it.
ForNode: A node.
  name: Its name.
ForZone: A zone.
  name: Its name.
"""

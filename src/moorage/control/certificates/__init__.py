"""CertificateSigningRequests: approved for nodes, signed for those that were approved, deleted when they are old."""

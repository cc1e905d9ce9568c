"""Write the manifests of an installation of attach: as a stream, a Kustomize base or a Helm chart, all the same."""

"""Manifests that several tests apply."""

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  labels: {{app: {name}, tier: back}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: registry.example/app:1
"""

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 3
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: main
        image: registry.example/web:1
        ports:
        - containerPort: 80
"""

SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  labels: {kind-of: example}
data:
  color: blue
  size: large
"""


def pod(name: str) -> str:
    return POD.format(name=name)

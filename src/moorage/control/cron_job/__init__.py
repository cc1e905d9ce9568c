"""The CronJob controller. Kubernetes: pkg/controller/cronjob."""

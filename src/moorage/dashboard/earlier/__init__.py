"""What happened before the dashboard started, as far as Events and timestamps of objects say."""

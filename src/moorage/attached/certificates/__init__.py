"""Make the certificates of the webhook, and replace them before they expire, without a moment of distrust."""

"""Service account tokens: keys, issuing, authentication, reviews, discovery of the keys."""

"""What is known of objects that were admitted, so that equal ones need not be admitted again."""

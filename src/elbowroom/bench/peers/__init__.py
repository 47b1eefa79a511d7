"""The libraries that a user would take instead, and our own calls beside them."""

"""Forms derived from the declarations, as plain strings and dicts."""

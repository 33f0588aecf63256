"""Stacks of the AWS system: storage, catalog, access, pipeline, studio."""

"""Catalog: Glue partitions of the job's tables."""

"""Aggregate: processes, drops and aggregates of the whole job."""

"""Reconciler: on a schedule, jobs whose event was missed, and running jobs."""

"""Starter: a training-job event to one execution of the workflow."""

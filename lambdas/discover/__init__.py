"""Discover: find the recording of a training job, write the work manifest."""

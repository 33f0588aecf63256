"""Convert: one process to event tables."""

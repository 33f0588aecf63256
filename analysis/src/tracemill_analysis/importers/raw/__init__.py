"""Reader of Tracemill's own recordings (``.tmraw`` segments)."""

"""What several functions need: environment, store, time limit, logs, documents of a run."""

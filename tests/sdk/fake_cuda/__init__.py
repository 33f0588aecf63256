"""Stand-ins for the CUDA libraries, so that GPU recording is tested without a GPU."""

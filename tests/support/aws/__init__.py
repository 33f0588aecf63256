"""Stand-ins for AWS: everything runs on this machine."""

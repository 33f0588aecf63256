"""The Lambda functions: event → model → one call into the engine → result."""

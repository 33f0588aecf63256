"""One module per stack; each composes constructs and holds no logic of its own."""

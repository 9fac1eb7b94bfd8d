"""One suite for each port, run over every adapter of it."""

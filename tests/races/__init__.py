"""Real processes, in interleavings that the test forces."""

"""Real files and real Git."""

"""Bugs planted on purpose: each is caught by a test, and a table says by which."""

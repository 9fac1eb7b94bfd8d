"""The Python interface: the same operations as the command line."""

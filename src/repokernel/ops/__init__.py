"""One use case per file: read through ports, ask core, write through ports."""

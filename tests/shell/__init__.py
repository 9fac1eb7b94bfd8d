"""The commands as people run them; proves the wiring only."""

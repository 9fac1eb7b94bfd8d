"""The board at work on a real job with real faults: `rk demo board`."""

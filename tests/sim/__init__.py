"""The real core and operations over a simulated store, clock and processes: from one seed, one schedule."""

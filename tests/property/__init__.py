"""Rules that hold for all inputs, searched with Hypothesis."""

"""Fakes, no IO."""

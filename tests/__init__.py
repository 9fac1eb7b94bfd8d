"""Tests, in tiers: see CONTRIBUTING.md."""

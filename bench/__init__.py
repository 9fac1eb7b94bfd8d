"""Speed, as ratios measured side by side in one run: `python -m bench [hot] [drain] [list] [registry]`."""

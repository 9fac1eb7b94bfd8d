"""What an operation needs from the world, in core's own types."""

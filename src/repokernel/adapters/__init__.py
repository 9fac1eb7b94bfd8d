"""What touches the world: files, processes, the clock."""

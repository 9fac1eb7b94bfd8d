"""What holds when a system call fails, a process is killed or the power goes: every point in turn."""

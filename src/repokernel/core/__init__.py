"""What RepoKernel decides: plain functions over values, with no clock, file, process or chance."""

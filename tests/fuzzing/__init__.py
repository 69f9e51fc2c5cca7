"""Random search for faults of the command line: damaged files through every command."""

"""The command line: one thin file a command, errors to stderr and the exit code."""

"""The command line: the counter at which people and scripts ask the daemon."""

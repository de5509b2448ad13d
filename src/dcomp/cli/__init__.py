"""The command line: thin faces over the library, one file per command."""

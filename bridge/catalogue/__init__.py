"""Questions about the store, and their answers: the same on the command line, in this process and over HTTP."""

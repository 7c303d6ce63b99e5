"""Reports of Autosys: what `autorep` and the log of the scheduler tell of runs that nobody told us of."""

"""How much is answered unless more is asked for."""

#: How many edges a walk gives: as many as people can look at, and a tenth of a second can find.
MOST_EDGES = 2_000

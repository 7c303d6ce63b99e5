"""Script for spark-submit: runs `lineage-bridge process run`."""

import sys

if __name__ == "__main__":
    sys.path.pop(0)  # this folder: its modules must not shadow top-level modules
    from bridge.cli.main import main

    sys.argv[1:1] = ["process", "run"]
    main()

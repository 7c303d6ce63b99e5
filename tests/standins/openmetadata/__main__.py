"""Runs the stand-in until Ctrl-C; prints its URL and tokens."""

import argparse
import signal
import sys

from tests.standins.faults import random_faults
from tests.standins.openmetadata import OpenMetadata


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.standins.openmetadata", description=__doc__)
    parser.add_argument("--port", type=int, default=8585, help="0 chooses a free one")
    parser.add_argument("--failing", type=float, default=0.0, help="share of requests that fail, such as 0.05")
    parser.add_argument("--seed", type=int, default=1, help="random seed of the failures")
    arguments = parser.parse_args()
    with OpenMetadata(port=arguments.port) as standin:
        if arguments.failing:
            standin.faults.plan = random_faults(arguments.failing, arguments.seed)
        out = sys.stdout
        out.write(f"OpenMetadata stand-in: {standin.url}/api\n")
        out.write(f"token of the bot:      {standin.bot_token}\ntoken of the admin:    {standin.admin_token}\n")
        out.flush()
        signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    main()

"""Start the stand-in for a person: prints its URL and the tokens, and runs until Ctrl-C."""

import argparse
import signal
import sys

from tests.standins.faults import random_faults
from tests.standins.openmetadata import OpenMetadata


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.standins.openmetadata", description=__doc__)
    parser.add_argument("--port", type=int, default=8585, help="0 takes a free one")
    parser.add_argument("--failing", type=float, default=0.0, help="share of calls that go wrong, such as 0.05")
    parser.add_argument("--seed", type=int, default=1, help="of the calls that go wrong")
    asked = parser.parse_args()
    with OpenMetadata(port=asked.port) as standin:
        if asked.failing:
            standin.faults.plan = random_faults(asked.failing, asked.seed)
        out = sys.stdout
        out.write(f"OpenMetadata stand-in: {standin.url}/api\n")
        out.write(f"token of the bot:      {standin.bot_token}\ntoken of the admin:    {standin.admin_token}\n")
        out.flush()
        signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    main()

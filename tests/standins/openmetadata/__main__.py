"""Start the stand-in for a person: prints its URL and the tokens, and runs until Ctrl-C."""

import argparse
import signal
import sys

from tests.standins.openmetadata import OpenMetadata


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.standins.openmetadata", description=__doc__)
    parser.add_argument("--port", type=int, default=8585, help="0 takes a free one")
    with OpenMetadata(port=parser.parse_args().port) as standin:
        out = sys.stdout
        out.write(f"OpenMetadata stand-in: {standin.url}/api\n")
        out.write(f"token of the bot:      {standin.bot_token}\ntoken of the admin:    {standin.admin_token}\n")
        out.flush()
        signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    main()

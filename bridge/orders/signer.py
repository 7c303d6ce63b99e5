"""Who gives orders, as far as the system knows."""

import getpass


def user() -> str:
    """Name the user of this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"

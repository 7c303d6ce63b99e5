"""Names as Spark's SQL takes them."""


def quoted(name: str) -> str:
    """Write a name, whatever stands in it."""
    return "`" + name.replace("`", "``") + "`"

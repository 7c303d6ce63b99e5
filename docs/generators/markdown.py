"""Markdown sections and tables."""


def section(title: str, *lines: str) -> str:
    return "\n".join([f"### {title}", "", *lines])


def table(header: str, rows: list[str]) -> list[str]:
    """Lines of a table; none without rows."""
    return [f"| {header} |", "|---" * (header.count("|") + 1) + "|", *rows, ""] if rows else []


def row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

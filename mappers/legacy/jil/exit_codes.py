"""Which exit codes of a job are successes, as its definition says."""

from collections.abc import Mapping


def is_success(code: int, rule: Mapping[str, str]) -> bool:
    """Tell whether a job succeeded: `fail_codes` decides, else `success_codes`, else the greatest that is one."""
    if listed := rule.get("fail_codes"):
        return not _among(code, listed)
    if listed := rule.get("success_codes"):
        return _among(code, listed)
    greatest = rule.get("max_exit_success", "").strip()
    return code <= (int(greatest) if greatest.isdigit() else 0)


def _among(code: int, listed: str) -> bool:
    for part in listed.replace('"', "").split(","):
        first, dash, last = (one.strip() for one in part.partition("-"))
        if first.isdigit() and (not dash or last.isdigit()) and int(first) <= code <= int(last or first):
            return True
    return False

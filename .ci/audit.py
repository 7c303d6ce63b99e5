"""Looks for known vulnerabilities in everything that the locks name; what could not be looked up fails, too."""

import json
import subprocess
import sys
from pathlib import Path

_LOCKS = ("locks/all.txt", "locks/dev.txt")
_AUDIT = (
    "tool", "run", "pip-audit==2.10.1", "--require-hashes", "--disable-pip", "--progress-spinner", "off",
    "--format", "json",
)  # fmt: skip


def verdict(out: str, err: str) -> list[str]:
    """Say what is wrong; nothing when all packages were looked up and none is known to be vulnerable."""
    try:
        packages = json.loads(out)["dependencies"]
    except (ValueError, KeyError):
        said = err.strip().splitlines() or ["it said nothing"]
        return [f"nothing was audited, the vulnerability service did not answer: {said[-1].strip()}"]
    wrong = sorted(
        {
            f"{package['name']} {package['version']}: {found['id']}, "
            f"fixed in {', '.join(found['fix_versions']) or 'no version'}"
            for package in packages
            for found in package.get("vulns", ())
        }
    )
    skipped = [package for package in packages if "skip_reason" in package]
    if skipped:
        reason = f"{skipped[0]['name']}: {skipped[0]['skip_reason']}"
        wrong.append(f"{len(skipped)} of {len(packages)} packages could not be looked up: {reason}")
    return wrong if packages else ["the locks name no package"]


def main() -> int:
    """Audit the locks; 1 when something is wrong."""
    uv = Path(sys.executable).with_name("uv")
    locks = [word for lock in _LOCKS for word in ("-r", lock)]
    done = subprocess.run([uv, *_AUDIT, *locks], capture_output=True, text=True, check=False)
    wrong = verdict(done.stdout, done.stderr)
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    if not wrong:
        print(f"no known vulnerability in what {' and '.join(_LOCKS)} name")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

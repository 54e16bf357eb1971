"""How much claims ask for, and how much the folders behind them hold.

A volume of the local-path provisioner is a folder: its size is a wish, and nothing holds a pod to
it.
"""

import math
import re
from collections.abc import Sequence
from decimal import Decimal

from openshell_bootstrap.cluster.node_exec import NodeExec
from openshell_bootstrap.errors import ClusterError

USAGE_SCRIPT = """\
deadline=$(($(date +%s) + $1))
while IFS= read -r path; do
    left=$((deadline - $(date +%s)))
    used=
    [ "$left" -le 0 ] || used=$(timeout "$left" du -skx -- "$path/." 2>/dev/null)
    printf '%s\\n' "${used%%[!0-9]*}"
done
"""
"""For each path of stdin one line: KiB that its files take on their disk, or nothing if there is
no such folder or the seconds of the first argument, for all of them, were over before."""

_FACTORS = {
    "": Decimal(1),
    "m": Decimal("0.001"),
    **{unit: Decimal(1000) ** (place + 1) for place, unit in enumerate("kMGTPE")},
    **{f"{unit}i": Decimal(1024) ** (place + 1) for place, unit in enumerate("KMGTPE")},
}
_QUANTITY = re.compile(rf"(\d+(?:\.\d*)?(?:[eE]\d{{1,2}})?)({'|'.join(_FACTORS)})")


def parse_quantity(text: str) -> int:
    """Bytes of a quantity such as ``1Gi``, ``500M`` or ``1e9``, rounded up; 0 if it is none.

    The API server writes a quantity back in the form in which it was given.
    """
    found = _QUANTITY.fullmatch(text)
    if found is None:
        return 0
    number, suffix = found.groups()
    return math.ceil(Decimal(number) * _FACTORS[suffix])


def observe_usage(node: NodeExec, paths: Sequence[str], timeout_s: int) -> dict[str, int | None]:
    """Bytes that the files of these folders take on their disk.

    None: there is no such folder, or the time was over before it was measured. The kubelet's own
    figures do not serve: of a volume that is a folder it tells the use of the whole file system.

    Args:
        node: Where to look.
        paths: Absolute and printable.
        timeout_s: For all of them, in their order.

    Raises:
        ClusterError: The look failed, or its answer cannot be read.
    """
    lines = "".join(f"{path}\n" for path in paths)
    completed = node.run(
        ["sh", "-c", USAGE_SCRIPT, "sh", str(timeout_s)],
        stdin=lines.encode(),
        timeout_s=timeout_s + 30,
    )
    found = completed.stdout.decode(errors="replace").split("\n")
    if completed.exit_status != 0 or len(found) != len(paths) + 1:
        raise ClusterError(
            "What the volumes hold could not be measured",
            details=completed.stderr.decode(errors="replace")[:500],
        )
    return {
        path: 1024 * int(used) if used.isdigit() else None
        for path, used in zip(paths, found[:-1], strict=True)
    }

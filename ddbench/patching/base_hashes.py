"""Write base.sha256 of a series: `python -m ddbench.patching.base_hashes FOLDER --python PYTHON`.

For whoever makes or changes a series, on an installation of SGLang that nobody has edited.
"""

import argparse
from hashlib import sha256
from pathlib import Path

from ddbench.errors import PatchError
from ddbench.patching.installed import find_installed
from ddbench.patching.series import BASE
from ddbench.patching.unified_diff import read_patch


def base_hashes(folder: Path, site_packages: Path) -> str:
    """The text of base.sha256: what the patches change and did not create, sorted by path.

    Raises PatchError for a file that is not there.
    """
    hashes: dict[str, str] = {}
    created: set[str] = set()
    for patch in sorted(folder.glob("*.patch")):
        for change in read_patch(patch):
            if change.creates:
                created.add(change.path)
            elif change.path not in created and change.path not in hashes:
                hashes[change.path] = _hash(site_packages / change.path, patch)
    return "".join(f"{hashed}  {path}\n" for path, hashed in sorted(hashes.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="the series: its *.patch files are there")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--python", help="the interpreter of an environment with unedited SGLang")
    where.add_argument("--site-packages", type=Path, help="or a folder that holds sglang/")
    asked = parser.parse_args()
    try:
        site_packages = asked.site_packages or find_installed(asked.python).site_packages
        hashes = base_hashes(asked.folder, site_packages)
    except PatchError as error:
        parser.exit(2, f"error: {error}\n  try: {error.remedy}\n")
    target = asked.folder / BASE
    target.write_text(hashes)
    print(target)


def _hash(path: Path, patch: Path) -> str:
    if not path.is_file():
        raise PatchError(
            f"{patch.name} changes {path}, which does not exist",
            remedy="Use the SGLang version that the series is for.",
        )
    return sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()

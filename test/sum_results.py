# Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums JUnit files: sum_results.py FOLDER. The last line is `N passed, N failed`; the
exit code is 1 if a test or a whole runner (named in FOLDER/failed) failed."""
import pathlib
import sys
import xml.etree.ElementTree


def main(folder: pathlib.Path) -> int:
    passed = failed = skipped = 0
    clean = set()
    for path in sorted(folder.glob("*.xml")):
        bad = 0
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                bad += 1
                print(f"failed: {path.stem}: {case.get('classname')} {case.get('name')}")
            elif case.find("skipped") is not None or case.get("status") == "notrun":
                skipped += 1
            else:
                passed += 1
        failed += bad
        if not bad:
            clean.add(path.stem)
    runners = (folder / "failed").read_text().split("\n")[:-1] if (folder / "failed").exists() else []
    for runner in runners:
        if runner in clean or not (folder / f"{runner}.xml").exists():
            print(f"failed: {runner} ended with an error that is no test's")
            failed += 1
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names enumerators without documentation, which Doxygen 1.9.4 does not report.

    api_enumerators.py FOLDER

FOLDER holds Doxygen's XML. Exits 1 if there is one.
"""
import pathlib
import sys
import xml.etree.ElementTree as xml


def undocumented(folder):
    """Each as "path:line: enumerator name"; the line is that of the enumeration."""
    found = set()
    for path in sorted(pathlib.Path(folder).glob("*.xml")):
        for enum in xml.parse(path).iter("memberdef"):
            if enum.get("prot") != "public":
                continue
            for value in enum.iter("enumvalue"):
                comments = (value.find("briefdescription"), value.find("detaileddescription"))
                if not any("".join(comment.itertext()).strip() for comment in comments if comment is not None):
                    place = enum.find("location").attrib
                    found.add(f"{place['file']}:{place['line']}: error: enumerator {enum.findtext('qualifiedname')}"
                              f"::{value.findtext('name')} is not documented.")
    return sorted(found)


def main():
    problems = undocumented(sys.argv[1])
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""What every client here needs of the drill: the addresses, so many workers, a folder,
and a token where one is needed."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

with open(os.environ["DRILL_LIST"]) as file:
    urls = file.read().split()
workers = int(os.environ["DRILL_WORKERS"])
out = Path(os.environ["DRILL_OUT"])
headers = {"Authorization": "Bearer " + os.environ["DRILL_TOKEN"]} if "DRILL_TOKEN" in os.environ else {}


def save(url, body):
    (out / url.rsplit("/", 1)[1]).write_bytes(body)


def said(url, err):
    """Says what failed; the exit code is 1 then."""
    print(f"{url}: {err}", file=sys.stderr)
    return False


def each(read):
    """Calls read for each address, as many at a time as there are workers."""

    def one(url):
        try:
            save(url, read(url))
            return True
        except Exception as err:
            return said(url, err)

    with ThreadPoolExecutor(max_workers=workers) as pool:
        sys.exit(0 if all(list(pool.map(one, urls))) else 1)

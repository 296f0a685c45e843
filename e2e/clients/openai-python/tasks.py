"""Reads tasks from standard input, runs all of them at once, and prints what each has seen."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor


def run_all(run):
    """Runs run(BASE_URL, task) for each of a list of JSON, and prints a line of JSON for each, in the list's order."""
    tasks = json.load(sys.stdin)
    with ThreadPoolExecutor(max_workers=max(1, len(tasks))) as pool:
        for seen in pool.map(lambda task: run(sys.argv[1], task), tasks):
            print(json.dumps(seen))

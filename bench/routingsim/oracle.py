"""The oracle: how much of some prompts the best caches could have had.

It reads a file with a prompt in each line, a JSON list of token ids, in the order in which they were asked. It divides
each into blocks, as inference servers do: a block is known only with all that is before it, and the last token of a
prompt is always computed.

It has one cache with as many blocks as all servers have together, and it knows the future: it gives up the block that is
needed again latest (Belady's algorithm, "A study of replacement algorithms for a virtual-storage computer", 1966). No
division of the cache among servers, and no choice of a server without knowledge of the future, can have more hits.

It knows nothing of the gateway, of servers or of time.
"""

import argparse
import heapq
import json
import sys


def blocks_of(prompt, size, known):
    """Return a number for each block of a prompt that could be a hit. Equal numbers mean equal beginnings."""
    numbers = []
    before = 0
    for end in range(size, len(prompt), size):
        before = known.setdefault((before, tuple(prompt[end - size : end])), len(known) + 1)
        numbers.append(before)
    return numbers


def hits_of(requests, capacity):
    """Return how many blocks are hits in a cache of a capacity that knows the future."""
    never = len(requests)
    next_use = [[never] * len(blocks) for blocks in requests]
    upcoming = {}
    for i in range(len(requests) - 1, -1, -1):
        for at, block in enumerate(requests[i]):
            next_use[i][at] = upcoming.get(block, never)
            upcoming[block] = i
    cache = {}  # the next use of each block in it
    latest = []  # of (-next use, -depth, block), with entries that no longer hold
    hits = 0
    for i, blocks in enumerate(requests):
        hitting = True
        for at, block in enumerate(blocks):
            hitting = hitting and block in cache
            hits += hitting
            use = next_use[i][at]
            if use == never:
                cache.pop(block, None)
                continue
            cache[block] = use
            heapq.heappush(latest, (-use, -at, block))
            while len(cache) > capacity:
                gone, _, other = heapq.heappop(latest)
                if cache.get(other) == -gone:
                    del cache[other]
    return hits


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, required=True, help="blocks of all servers' caches together")
    parser.add_argument("--block-size", type=int, required=True, help="tokens of a block")
    parser.add_argument("prompts", help="file with a JSON list of token ids in each line")
    options = parser.parse_args()
    known, requests, queried = {}, [], 0
    with open(options.prompts, encoding="utf-8") as lines:
        for line in lines:
            prompt = json.loads(line)
            queried += len(prompt)
            requests.append(blocks_of(prompt, options.block_size, known))
    answer = {
        "queried": queried,
        "hits": options.block_size * hits_of(requests, options.blocks),
        "unbounded": options.block_size * hits_of(requests, len(known) + 1),
    }
    json.dump(answer, sys.stdout)
    print()


if __name__ == "__main__":
    main()

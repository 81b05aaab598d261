"""The checker against planted mistakes: what ``rc.check`` says of derivations with one broken line.

Run it with ``python benchmarks/checker.py``; ``--every 10`` takes every tenth identity, ``--seed`` draws other lines,
``--all`` breaks a line in all twelve ways for each identity rather than in one of them. For each way the table has:

=============  ============================================================================
broken         lines that were broken so, and could be evaluated
false          those that are false then, found out by loops over indices
passed         false lines that the checker let pass
accused        true lines, broken or not, that it called false
found          false lines of which it named the part that is wrong
refused        false lines without a meaning, with the reader's caret, for which no change was found
as it was      false lines for which the line as it should be is, word for word, what stood there
=============  ============================================================================

The end has the most frequent names of mistakes for each way, the time a check takes, and the derivations of all
identities as they are: lines proved, true at random points, false.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections import Counter

from ricci.review.reviewing import check
from ricci.testing.identities import identities
from ricci.testing.planted import WAYS, Outcome, outcome

COLUMNS = ("broken", "false", "passed", "accused", "found", "refused", "as it was")


def counts(made: list[Outcome]) -> list[int]:
    false = [one for one in made if one.false]
    said = [(one.found, one.refused, one.restored) for one in false]
    return [len(made), len(false), sum(one.passed for one in made), sum(len(one.accused) for one in made),
            *map(sum, zip(*said, strict=True))] if said else [len(made), *[0] * 6]  # fmt: skip


def planted(every: int, seed: int, all_ways: bool) -> dict[str, list[Outcome]]:
    rng = random.Random(seed)
    found: dict[str, list[Outcome]] = {way: [] for way in WAYS}
    for row in identities()[::every]:
        ways = list(WAYS) if all_ways else rng.sample(WAYS, len(WAYS))
        for way in ways:
            made = outcome(row, way, rng)
            if made is not None:
                found[way].append(made)
                if not all_ways:
                    break
    return found


def as_they_are(every: int) -> tuple[Counter[str], list[float]]:
    statuses: Counter[str] = Counter()
    times = []
    for row in identities()[::every]:
        derivation = row.derivative().derivation()
        start = time.perf_counter()
        statuses.update(verdict.status for verdict in check(derivation))
        times.append(time.perf_counter() - start)
    return statuses, times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    found = planted(options.every, options.seed, options.all)
    print(f"| way | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}")
    everything = [one for made in found.values() for one in made]
    for way, made in [*found.items(), ("all", everything)]:
        print(f"| {way} | {' | '.join(map(str, counts(made)))} |")
    print()
    for way, made in found.items():
        names = Counter(one.verdict.mistake or "no name" for one in made if one.verdict is not None and one.false)
        print(f"{way}: {', '.join(f'{name} ({count})' for name, count in names.most_common(3))}")
    statuses, times = as_they_are(options.every)
    print(f"\nDerivations as they are: {dict(statuses)}; a check takes {1e3 * statistics.median(times):.0f} ms in the "
          f"median, {1e3 * max(times):.0f} ms at most.")  # fmt: skip
    for one in [one for one in everything if one.passed or one.accused]:
        print(f"\n{one.planted.identity.name}, {one.planted.way}: {one.planted.line}\n{one.report}")


if __name__ == "__main__":
    main()

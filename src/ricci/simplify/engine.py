"""The pass: rules applied to every node, operands first, until none fires.

The work is done on a stack, so depth does not matter, and every node is visited once. Where a rule fires, its result
takes the place of the node and is simplified itself, with all that is new in it. So what comes out holds no node at
which a rule applies, and a second pass has nothing to do, except that costs are then known better: a guarded rule
weighs what becomes unused, which depends on the users of nodes. Where that was asked, the pass is repeated, until
nothing changes, or three times. If the whole costs more in the end, which such a look at one node cannot quite
exclude, it is all done again, the guarded rules last, and only if these pay. Weighing takes its time, so it is left
out in expressions of more than some hundred nodes, such as the steps of an integrator.

The work is bounded: a node is rewritten at most 16 times in a row, and all of them together at most 16 times as often
as there are nodes. A result that is already being simplified is not taken, so rules cannot chase one another.

What a rule makes of a node depends on the node alone, and only whether a guarded one is taken depends on the rest. So
nodes remember that no rule has anything to say at them, or below (``Expr.simplified``): what was simplified once is
looked at once, and simplifying it again, or what it became a part of, costs next to nothing.

*Order.* Rules are tried in the order of :data:`RULES`. Stable forms come first, from the most specific to the least:
``log(1 + exp(x))`` must become softplus before ``log1p`` is tried. Then come inverse pairs, pairs of terms and factors,
and powers (``exp(z) exp(z) sigmoid(-z)**2`` must meet as such before equal factors are collected). What depends on
the cost comes last, when nothing else applies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from ricci.budget import spend
from ricci.calculus.cost import cost, own_cost
from ricci.expr import Expr, rebuild, topological
from ricci.expr.numbers import loose
from ricci.simplify import collecting, declared_matrices, energies, inverses, pairs, powers, stable
from ricci.simplify.match import LESS, NOT_MORE, Rewrite, Rewriting, bit, is_complex, nearby

RULES: dict[str, Rewriting] = {
    rule.name: rule
    for rule in (
        *stable.RULES,
        *inverses.RULES,
        *declared_matrices.RULES,
        *energies.RULES,
        *pairs.TERM_RULES,
        *pairs.FACTOR_RULES,
        *powers.RULES,
        *collecting.RULES,
    )
}
PLAIN, FREE, DONE = 1, 2, 3  # no rule without a guard applies at a node; no rule at all; nor at any below
PASSES = 3
MOST_REWRITES = 16
Made = dict[tuple, Expr | None]  # what becomes of nodes, by their new operands, or by a rule
LOOK = 64  # nodes that weighing a guarded rule may look at
MOST_WEIGHED = 300  # nodes of an expression in which costs are weighed


def simplify(root: Expr, trace: list[Rewrite] | None = None, rules: dict[str, Rewriting] | None = None) -> Expr:
    """An expression of the same value that is more stable, or cheaper, or both; ``trace`` collects the steps.

    >>> from ricci.expr import variable
    >>> from ricci.functions.activations import softplus
    >>> from ricci.functions.elementwise import exp, log
    >>> x, steps = variable("x", 1), []
    >>> simplify(log(1 + exp(x)), steps) is softplus(x)
    True
    >>> [step.rule for step in steps]
    ['log of an exponential']
    """
    if rules is None and _simplified(root) == DONE:
        return root
    known = _known() if rules is None else _Rules(tuple(rules.values()), marks=False)
    guarded = rules is not None or len(topological(root)) <= MOST_WEIGHED
    steps: list[Rewrite] = []
    made: Made = {}
    result = _repeated(root, known, guarded, steps, made)
    if any(known.guards[step.rule] for step in steps) and cost(result) > cost(root):
        steps = []
        plain = _repeated(root, known, False, steps, made)
        more: list[Rewrite] = []
        result = plain if plain is root else _repeated(plain, known, guarded, more, made)  # from there it is known
        if cost(result) > cost(plain):
            result, more = plain, []
        steps += more
    if trace is not None:
        trace += steps
    return result


def simplify_all(roots: Sequence[Expr]) -> list[Expr]:
    """Several expressions in one pass, by the rules that need no weighing of costs; one expression by all rules."""
    if len(roots) < 2:
        return [simplify(root) for root in roots]
    once = _Sweep(roots, _known(), False, [], {})
    once.run()
    return [once.done[root] for root in roots]


def _repeated(root: Expr, rules: _Rules, guarded: bool, steps: list[Rewrite], made: Made) -> Expr:
    first = root
    for _ in range(PASSES):
        once = _Sweep([root], rules, guarded, steps, made)
        once.run()
        before, root = root, once.done[root]
        if root is before or not once.weighed or cost(root) > cost(first):
            break
    return root


class _Rules:
    """Rules by the heads at which they are tried, and those without a guard alone."""

    def __init__(self, rules: Sequence[Rewriting], marks: bool = True):
        self.rules, self.marks = rules, marks
        self.guards = {rule.name: rule.guard for rule in rules}
        self.every = _RuleTable(rules)
        self.plain = _RuleTable([rule for rule in rules if not rule.guard])
        self.guarded = _RuleTable([rule for rule in rules if rule.guard])


def _known() -> _Rules:
    """The rules of the table, sorted once; again where the table has been changed."""
    rules = tuple(RULES.values())
    return _SORTED if _SORTED.rules == rules else _Rules(rules)


class _RuleTable:
    """Rules by the heads at which they are tried, and by what is close to these."""

    def __init__(self, rules: Iterable[Rewriting]):
        self.by_head: dict[str, list[tuple[int, Rewriting]]] = {}
        self.needed: dict[str, int] = {}  # all that rules at a head ask for
        self.known: dict[tuple[str, int], tuple[Rewriting, ...]] = {}
        for rule in rules:
            needs = reduce(or_, map(bit, rule.needs), 0)
            for name in rule.heads:
                self.by_head.setdefault(name, []).append((needs, rule))
                self.needed[name] = self.needed.get(name, 0) | needs

    def tried(self, node: Expr) -> tuple[Rewriting, ...]:
        """The rules that may have something to say at a node."""
        name = node.head
        if name not in self.by_head:
            return ()
        close = nearby(node) & self.needed[name]
        found = self.known.get((name, close))
        if found is None:
            found = tuple([rule for needs, rule in self.by_head[name] if needs & close == needs])
            self.known[name, close] = found
        return found


_SORTED = _Rules(tuple(RULES.values()))


def _simplified(e: Expr) -> int:
    """What is known of a node: PLAIN, FREE, DONE, or nothing. Where sums are compared rather than computed, nothing."""
    return getattr(e, "simplified", 0) if not loose() else 0


class _Sweep:
    """One pass over expressions; ``guarded`` rules are tried, or left out. ``made`` is known from earlier ones."""

    def __init__(self, roots: Sequence[Expr], rules: _Rules, guarded: bool, trace: list[Rewrite], made: Made):
        self.roots, self.rules, self.guarded, self.trace, self.made = roots, rules, guarded, trace, made
        self.marks = rules.marks and not loose()
        order = topological(*roots)
        self.uses: Counter[Expr] = Counter([a for node in order for a in node.args]) if guarded else Counter()
        self.fuel = MOST_REWRITES * len(order)
        self.done: dict[Expr, Expr] = {}
        self.results: set[Expr] = set()
        self.whole: list[Expr] = []  # results that were not looked into
        self.rewrites: Counter[Expr] = Counter()
        self.weighed = False  # whether costs were compared

    def run(self) -> None:
        """What a node becomes next, if anything, goes on the stack above it, and what that is in the end, it is."""
        becomes: dict[Expr, Expr] = {}
        active: set[Expr] = set()
        stack = list(self.roots)
        while stack:
            node = stack[-1]
            if node in self.done:
                stack.pop()
            elif node in becomes:
                self.finish(node, self.done[becomes[node]])
            elif self.marks and getattr(node, "simplified", 0) == DONE:
                self.done[node] = node
                self.whole.append(node)
            elif node not in active:
                active.add(node)
                if node.args:
                    stack += [a for a in node.args if a not in self.done and a not in active]
            else:
                new = self.next(node)
                if new is None or (new in active and new not in self.done):
                    self.finish(node, node)
                else:
                    becomes[node] = new
                    stack.append(new)

    def finish(self, node: Expr, result: Expr) -> None:
        self.done[node] = result
        self.results.add(result)
        if result is not node:
            if self.guarded:
                self.uses[result] += self.uses[node]
        elif self.marks and getattr(node, "simplified", 0) == FREE:
            for a in node.args:
                if getattr(a, "simplified", 0) != DONE:
                    return
            node.simplified = DONE

    def next(self, node: Expr) -> Expr | None:
        """The node with its operands simplified; or, if they are, what the first rule that fires makes of it."""
        spend()
        done = self.done
        args = tuple([done.get(a, a) for a in node.args])
        if args != node.args:
            new = self.made.get((node, args))
            if new is None:
                new = self.made[node, args] = rebuild(node, args)
            return new if new is not node else None
        if self.fuel <= 0 or self.rewrites.get(node, 0) >= MOST_REWRITES:
            return None
        found = self.first(node)
        if found is None:
            return None
        rule, new = found
        self.fuel -= 1
        self.rewrites[new] = max(self.rewrites[new], self.rewrites[node] + 1)
        self.trace.append(Rewrite(rule.name, node, new))
        return new

    def first(self, node: Expr) -> tuple[Rewriting, Expr] | None:
        """The first rule that fires; what is found to hold of the node alone is remembered."""
        known = getattr(node, "simplified", 0) if self.marks else 0
        if known >= FREE or (known == PLAIN and not self.guarded):
            return None
        if not node.args and self.marks and node.head not in self.rules.every.by_head:
            node.simplified = FREE
            return None
        rules = (self.rules.every if self.guarded else self.rules.plain) if not known else self.rules.guarded
        free = True  # so far no rule has applied, allowed or not
        among = is_complex(node)
        for rule in rules.tried(node):
            if among and not rule.complex:
                continue
            new = self.applied(rule, node) if rule.guard else rule.apply(node)
            if new is not None and new is not node:
                if self.allows(rule.guard, node, new):
                    return rule, new
                free = False
        if self.marks:
            tried = self.guarded or node.head not in self.rules.guarded.by_head
            node.simplified = FREE if free and tried else PLAIN
        return None

    def applied(self, rule: Rewriting, node: Expr) -> Expr | None:
        """What a guarded rule makes of a node, which is weighed in each pass, and made once."""
        if (rule.name, node) not in self.made:
            self.made[rule.name, node] = rule.apply(node)
        return self.made[rule.name, node]

    def allows(self, guard: str, before: Expr, after: Expr) -> bool:
        """Whether what is new in ``after`` costs less than what only ``before`` needs, or not more."""
        if not guard:
            return True
        if self.whole:
            self.results.update(topological(*self.whole))
            self.whole = []
        new: set[Expr] = set()
        kept: set[Expr] = set()
        stack = [after]
        while stack:
            node = stack.pop()
            if node in self.results or node in new:
                kept.add(node)
            elif len(new) < LOOK:
                new.add(node)
                stack += node.args
        saved = sum(map(own_cost, self.unused(before, kept))) - sum(map(own_cost, new))
        allowed = saved > 0 or (saved == 0 and guard == NOT_MORE)
        self.weighed = self.weighed or guard == LESS or not allowed
        return allowed

    def unused(self, before: Expr, kept: set[Expr]) -> set[Expr]:
        """``before``, and below it what nothing else uses."""
        gone = {before}
        stack = list(before.args)
        while stack and len(gone) < LOOK:
            node = stack.pop()
            if self.uses.get(node, 0) <= 1 and node not in kept and node not in gone:
                gone.add(node)
                stack += node.args
        return gone

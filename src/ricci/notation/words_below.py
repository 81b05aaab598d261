r"""Letters and digits below a name of a LaTeX text that may be words: ``k_B``, ``\mu_{ML}``, ``\epsilon_0``.

On paper they are told from indices by what they mean. Here upright letters belong to a name, ``k_{\mathrm{B}}``, and
slanted ones are indices. A warning says so where an index stands below one name alone and is summed by no sign, where
one is on a left side and nothing beside it has it, and where a name has no index but a number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ricci.notation import syntax
from ricci.notation.latex_letters import ABOVE
from ricci.notation.occurrences import Occurrences

Edit = tuple[int, int, str]
Found = tuple[str, syntax.Node, syntax.Statement, list[Edit]]  # what is said, where, and how to write it as a name


def words_below(program: syntax.Statements) -> Iterator[Found]:
    """All such places of a text."""
    yield from _alone_on_the_left(program)
    yield from _capitals(program)
    yield from _numbered(program)
    yield from _powers(program)
    yield from _words_above(program)
    yield from _strains(program)


def _tensors(statement: syntax.Statement) -> Iterator[syntax.TensorNode]:
    if statement.name is not None and statement.indices:
        yield syntax.TensorNode(statement.start, statement.indices[-1].end, statement.name, statement.indices)
    for node in [node for side in statement.sides for node in syntax.within(side)]:
        if isinstance(node, syntax.TensorNode):
            yield node
        elif isinstance(node, syntax.Derivative):
            yield node.variable


def _alone_on_the_left(program: syntax.Statements) -> Iterator[Found]:
    """``\\mu_{ML} = …``, of which nothing has the indices M and L."""
    count = Occurrences()
    used = {
        name for s in program.statements for side in s.sides for node in syntax.within(side) for name in _names(node)
    }
    for statement in program.statements:
        own = [index for index in statement.indices or () if index.plain]
        if statement.derived is not None or count.of(statement.body):
            continue
        lone = [index for index in own if not used & {name for _, name in index.terms}]
        if lone:
            place = syntax.TensorNode(statement.start, statement.indices[-1].end, "", None)  # type: ignore[index]
            says = f"Nothing on the right side has the index {lone[0].terms[0][1]!r}, so all entries are the same."
            yield says, place, statement, _upright(program.text, lone)


def _capitals(program: syntax.Statements) -> Iterator[Found]:
    """``k_B T \\log k_B``: a capital letter below one name, more than once."""
    below: dict[str, set[str]] = {}
    bound: set[str] = set()
    places: dict[str, list[tuple[syntax.TensorNode, syntax.Statement, syntax.Index]]] = {}
    for statement in program.statements:
        bound |= {name for index in statement.indices or () for _, name in index.terms}
        for node in _tensors(statement):
            for index in node.indices or ():
                for _, name in index.terms:
                    below.setdefault(name, set()).add(node.name)
                    places.setdefault(name, []).append((node, statement, index))
        for node in [node for side in statement.sides for node in syntax.within(side)]:
            if not isinstance(node, syntax.TensorNode):
                bound |= set(_names(node))
    for name, tensors in below.items():
        if name.isupper() and len(tensors) == 1 and name not in bound:
            node, statement, _ = places[name][0]
            own = [index for _, s, index in places[name] if s is statement]
            says = f"The letter {name!r} stands below {node.name!r} alone, and is an index here, which is summed over."
            yield says, node, statement, _upright(program.text, own)


def _numbered(program: syntax.Statements) -> Iterator[Found]:
    """``\\epsilon_0``, ``m_1 + m_2``: entries of a tensor that has no other index in the whole text."""
    found: dict[str, list[tuple[syntax.TensorNode, syntax.Statement]]] = {}
    for statement in program.statements:
        for node in _tensors(statement):
            found.setdefault(node.name, []).append((node, statement))
    numbered: list[tuple[syntax.TensorNode, syntax.Statement]] = []
    for uses in found.values():
        own = [(index, s) for node, s in uses for index in node.indices or ()]
        bare = all(len(node.indices or ()) == 1 for node, _ in uses)
        if not bare or not all(not i.terms and not i.sizes and i.tensor is None and not i.height for i, _ in own):
            continue
        if all(program.text[index.start - 1 : index.start] == "_" for index, _ in own):  # in braces it is an entry
            numbered += uses
    if numbered:
        node, statement = min(numbered, key=lambda use: use[0].start)
        names = " and ".join(dict.fromkeys([repr(n.name) for n, s in numbered if s is statement]))
        edits = _upright(program.text, [i for n, s in numbered if s is statement for i in n.indices or ()])
        yield f"The numbers below {names} are places of entries here, counted from 0.", node, statement, edits


def _powers(program: syntax.Statements) -> Iterator[Found]:
    """``v^i v^i``, where ``i`` is no index of the text, and so a number."""
    for statement in program.statements:
        nodes = [node for side in statement.sides for node in syntax.within(side)]
        found: dict[str, list[syntax.Power]] = {}
        for node in nodes:
            if isinstance(node, syntax.Power) and isinstance(node.exponent, syntax.TensorNode):
                bare = node.exponent.indices is None and node.base.end == node.end  # and no brace is around the name
                if bare and node.exponent.name in ABOVE:
                    found.setdefault(node.exponent.name, []).append(node)
        for name, own in found.items():
            alone = sum(1 for node in nodes if isinstance(node, syntax.TensorNode) and node.name == name) == len(own)
            if len(own) > 1 and alone:
                signs = [program.text.rindex("^", node.start, node.exponent.start) for node in own]
                says = f"The letter {name!r} is no index of the text, and what stands above a name is a power."
                yield says, own[0], statement, [(at, at, "{}") for at in signs]


def _words_above(program: syntax.Statements) -> Iterator[Found]:
    """``W^{Q}_{ij}``: powers of entries by a capital letter, or by several letters, that are nowhere else."""
    nodes = [(node, s) for s in program.statements for side in s.sides for node in syntax.within(side)]
    uses = Counter(node.name for node, _ in nodes if isinstance(node, syntax.TensorNode))
    found: dict[str, list[tuple[syntax.TensorNode, syntax.TensorNode, syntax.Power, syntax.Statement]]] = {}
    for node, s in nodes:
        if not isinstance(node, syntax.Power) or node.base.end != node.end:
            continue
        base, above = node.base, node.exponent
        if not isinstance(base, syntax.TensorNode) or not isinstance(above, syntax.TensorNode):
            continue
        if base.indices and "_" not in base.name and above.indices is None and len(above.name) == 1:
            found.setdefault(base.name, []).append((base, above, node, s))
    for name, own in found.items():
        above = Counter(exponent.name for _, exponent, _, _ in own)
        alone = [letter for letter in above if above[letter] == uses[letter]]
        if any(letter.isupper() for letter in alone) or len(alone) > 1:
            _, exponent, place, statement = own[0]
            edits = [_as_word(program.text, base, e, node) for base, e, node, s in own if s is statement]
            says = f"The letter {exponent.name!r} stands above {name!r} alone, and what stands above a name is a power."
            yield says, place, statement, edits


def _as_word(text: str, base: syntax.TensorNode, above: syntax.TensorNode, node: syntax.Power) -> Edit:
    r"""What stands after a name, ``^{Q}_{ij}`` or ``_{ij}^{Q}``, with the letter as a word below it."""
    begin = min(at for at in (text.find(sign, node.start, node.end) for sign in "_^") if at >= 0)
    own = list(base.indices or ())
    shown = text[own[0].start : own[-1].end]
    return begin, node.end, rf"_{{\mathrm{{{above.name}}},{shown}}}"


def _strains(program: syntax.Statements) -> Iterator[Found]:
    """``\\sigma_{ij} = C_{ijkl} \\varepsilon_{kl}``, of which the last is a tensor in books on solids."""
    for statement in program.statements:
        nodes = [node for side in statement.sides for node in syntax.within(side)]
        found = [node for node in nodes if isinstance(node, syntax.Epsilon) and len(node.indices) == 2]
        if found:
            shown = re.compile(r"\\(?:var)?epsilon")
            edits = [
                (m.start(), m.end(), rf"\mathrm{{{m[0][1:]}}}")
                for n in found
                for m in [shown.match(program.text, n.start)]
                if m
            ]
            says = "With two indices this is the Levi-Civita symbol, which changes its sign when they change places."
            yield says, found[0], statement, edits


def _names(node: syntax.Node) -> list[str]:
    own = [i for part in ("indices", "axes", "result") for i in getattr(node, part, None) or ()]
    own += [i for index in own if index.tensor is not None for i in index.tensor.indices or ()]
    sizes = [node.name] if isinstance(node, syntax.Size) else []
    return [name for index in own for _, name in index.terms] + sizes


def _upright(text: str, indices: list[syntax.Index]) -> list[Edit]:
    """The indices as words: letters side by side are one."""
    edits: list[Edit] = []
    for index in indices:
        if edits and edits[-1][1] == index.start:
            edits[-1] = (edits[-1][0], index.end, edits[-1][2] + text[index.start : index.end])
        else:
            edits.append((index.start, index.end, text[index.start : index.end]))
    braced = lambda start, word: word if text[start - 1 : start] in "{," else f"{{{word}}}"  # noqa: E731
    return [(start, end, braced(start, rf"\mathrm{{{word}}}")) for start, end, word in edits]

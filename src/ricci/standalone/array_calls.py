"""Functions over axes, loops and branches as lines of NumPy, PyTorch and JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ricci.compiler.plan.program_steps import Step, Value
from ricci.errors import RuleError
from ricci.standalone.any_size import BranchSteps, LoopSteps
from ricci.standalone.assembling import given
from ricci.standalone.line_breaking import INDENT, indented
from ricci.standalone.pieces import ATOM, CodePiece
from ricci.standalone.tidying import words_read

if TYPE_CHECKING:
    from ricci.standalone.array_code import ArrayCode

SYMMETRIC = ("cholesky", "eigvalsh", "eigh_vectors")


def called(code: ArrayCode, step: Step) -> CodePiece:
    """A function over axes."""
    if step.name == "loop":
        return _loop(code, step, *step.params)
    if step.name == "branch":
        return _branch(code, step, *step.params)
    params, axes, _ = step.params
    name, values = step.name, [value for value, _ in given(step)]
    if name in code.library.along:
        return _along(code, name, values[0], axes[0])
    if name in ("recurrence", "recurrence_back"):
        return _recurrence(code, step, axes, back=name.endswith("back"))
    if name in ("solve", "triangular_solve"):
        return _solve(code, name, params, values)
    if name == "expm_along":
        return _expm_along(code, values, params)
    if name == "pinv" and params:
        return code.call(code.library.matrix["pinv_to"], code.piece(values[0]), p=repr(params[0]))
    if name not in code.library.matrix:
        raise RuleError(f"{name} is no function of {code.library.name}, so there is no code of it there.")
    template = code.library.matrix[name]
    if name in SYMMETRIC:
        return _of_symmetric(code, template, values[0], params[0] if params else "")
    return code.call(template, code.piece(values[0]))


def _along(code: ArrayCode, name: str, value: Value, axes: tuple[int, ...]) -> CodePiece:
    """A function along one axis, or along the last ones."""
    template = code.library.along[name]
    if template.count("{0}") > 1:
        code.named(value)
    piece = code.piece(value)
    text = str(axes[0]) if len(axes) == 1 else f"({', '.join(map(str, axes))})"
    if name in ("any", "all") and value.kind != "b" and code.library.name == "torch":
        piece = CodePiece(f"{piece.at(ATOM)} != 0", 0)
    return code.call(template, piece, axis=text)


def _of_symmetric(code: ArrayCode, template: str, value: Value, triangle: str) -> CodePiece:
    """A function of the symmetric part of a matrix; of a matrix of which one triangle is known, of that."""
    text = code.piece(value).text
    if triangle == "U":
        return code.call(template.replace("{S}", "{0}"), CodePiece(f"{code.piece(value).at(ATOM)}.swapaxes(-1, -2)"))
    if not triangle:
        code.helpers["symmetric"] = None
        text = f"symmetric({text})"
    return code.call(template.replace("{S}", "{0}"), CodePiece(text))


def _recurrence(code: ArrayCode, step: Step, axes: Any, back: bool) -> CodePiece:
    """``y[i+1] = a[i] y[i] + b[i]``, along an axis that is brought to the front and back."""
    code.helpers["recurrence"] = None
    (a, _), (b, _) = given(step)
    first, further = axes[0][0], len(axes[1]) - 1
    np = code.np
    texts = [code.piece(v).at(ATOM) for v in (a, b)]
    texts[0] += f"[{', '.join(['...'] + ['None'] * further)}]" if further else ""
    moved = [f"{np}.moveaxis({t}, {first}, 0)" if first else t for t in texts]
    zero = "[0]" if code.library.name == "torch" else "0"
    if back:
        moved = [f"{np}.flip({t}, {zero})" for t in moved]
    found = f"recurrence({', '.join(moved)})"
    found = f"{np}.flip({found}, {zero})" if back else found
    return CodePiece(f"{np}.moveaxis({found}, 0, {first})" if first else found)


def _solve(code: ArrayCode, name: str, params: tuple, values: list) -> CodePiece:
    """Systems of equations: the right sides are columns of a matrix."""
    a, b = values
    columns, lead = params[0], len(a.shape) - 2
    right, left = code.piece(b), code.piece(a)
    template = code.library.matrix["solve"]
    if name == "triangular_solve":
        _, lower, transpose = params
        template = code.library.matrix["lower_solve" if lower else "upper_solve"]
        if transpose:
            turned = f"{left.at(ATOM)}.T" if not lead else f"{left.at(ATOM)}.swapaxes(-1, -2)"
            if code.library.name == "numpy":
                template = template.replace("({0})", "({0}).swapaxes(-1, -2)")
            else:
                left = CodePiece(turned)
                template = code.library.matrix["upper_solve" if lower else "lower_solve"]
    vector = columns == 0 and lead == 0 and not (name == "triangular_solve" and code.library.name == "torch")
    if columns == 1 or vector:
        return code.call(template, left, right)
    if columns == 0:
        found = code.call(template, left, CodePiece(f"{right.at(ATOM)}[..., None]"))
        return CodePiece(f"{found.text}[..., 0]")
    flat = code.shape([*b.shape[: lead + 1]])[1:-1].rstrip(",")
    found = code.call(template, left, CodePiece(f"{right.at(ATOM)}.reshape({flat}, -1)"))
    return CodePiece(f"{found.text}.reshape({code.shape(b.shape)[1:-1].rstrip(',')})")


def _expm_along(code: ArrayCode, values: list, params: tuple) -> CodePiece:
    """The change of exponentials along matrices, whose further axes are moved in front."""
    code.helpers["expm_along"] = None
    a, e = values
    columns, lead, np = params[0], len(a.shape) - 2, code.np
    if not columns:
        return CodePiece(f"expm_along({code.piece(a).text}, {code.piece(e).text})")
    order = len(e.shape)
    front = [*range(lead), *range(lead + 2, order), lead, lead + 1]
    moved = code.transposed(code.piece(e), front)
    wide = f"{code.piece(a).at(ATOM)}[{', '.join([*[':'] * lead, *['None'] * columns])}]" if columns else ""
    code.lines.append(f"{(name := code.names.numbered('t'))} = {moved.text}")
    shape = f"{name}.shape"
    found = CodePiece(f"expm_along({np}.broadcast_to({wide}, {shape}), {name})")
    back = [front.index(axis) for axis in range(order)]
    return code.transposed(found, back)


# Loops and branches


def _loop(code: ArrayCode, step: Step, loop: LoopSteps) -> CodePiece:
    """A loop of Python over the steps; the states are kept in a list."""
    operands = [code.named(value).text for value, _ in given(step)]
    *inputs, state = loop.inner.inputs
    time = code.names.new("t")
    fixed, sliced = operands[: loop.fixed], operands[loop.fixed : -1]
    name = code.names.numbered("s")
    texts = dict(zip(inputs, [*fixed, *[f"{x}[{time}]" for x in sliced]], strict=False))
    if loop.forced:
        texts[inputs[-1]] = f"{operands[-1]}[{time} + 1]"
    texts[state] = name if loop.last else f"{name}[-1]"
    start = f"{operands[-1]}[0]" if loop.forced else operands[-1]
    lines, (new,) = code.inner(loop.inner, texts)
    code.lines.append(f"{name} = {start}" if loop.last else f"{name} = [{start}]")
    time = time if time in words_read([*lines, new.text]) else "_"
    code.lines.append(f"for {time} in range({code.sizes.piece(loop.length).text}):")
    code.lines += indented(lines)
    code.lines.append(INDENT + (f"{name} = {new.text}" if loop.last else f"{name}.append({new.text})"))
    return CodePiece(name) if loop.last else CodePiece(f"{code.np}.stack({name})")


def _branch(code: ArrayCode, step: Step, known: BranchSteps) -> CodePiece:
    """Branches are functions, of which one is called."""
    number, *operands = [code.named(value).text for value, _ in given(step)]
    names = []
    for inner in known.inner:
        names.append(code.names.numbered("branch"))
        own = [code.names.numbered("p") for _ in inner.inputs]
        lines, (result,) = code.inner(inner, dict(zip(inner.inputs, own, strict=True)))
        if code.lines[-1:] != [""]:
            code.lines.append("")
        code.lines.append(f"def {names[-1]}({', '.join(own)}):")
        code.lines += [*indented([*lines, f"return {result.text}"]), ""]
    listed = f"[{', '.join(names)}]"
    if code.library.name == "jax":
        return CodePiece(f"jax.lax.switch({code.np}.int32({number}), {', '.join([listed, *operands])})")
    return CodePiece(f"{listed}[min(max(int({number}), 0), {len(names) - 1})]({', '.join(operands)})")

"""The page of PyTorch's operations, made from the table: ``python -m ricci.testing.torch_page > docs/torch.md``."""

from __future__ import annotations

from ricci.tracing.pytorch.aten import operations, whole_rows

TITLES = {
    "of_entries": "Entry by entry",
    "of_activations": "Activations",
    "of_reductions": "Reductions",
    "of_order": "Order",
    "of_shapes": "Shapes",
    "of_places": "Reading and writing at places",
    "of_products": "Products",
    "of_windows": "Windows: convolutions and pools",
    "of_layers": "Layers that normalise",
    "of_losses": "Losses",
    "of_matrices": "Linear algebra",
    "of_making": "Making tensors",
    "of_transforms": "Fourier transforms",
    "of_complex": "Complex numbers",
}
_HEAD = """# What can be traced of PyTorch

Functions written for PyTorch, given PyTorch's tensors, have PyTorch's meaning: its methods, arguments, defaults and
types. A traced tensor is a tensor for PyTorch, which reads the arguments of a call and takes the call apart into its
basic operations (`aten`). These are listed here: {count} names, made from the table in `ricci.tracing.pytorch` by
`python -m ricci.testing.torch_page`. A function or method that comes down to them is traced, and so are layers of
`torch.nn`; thousands of names do. Operations that are not listed are taken apart once more, as PyTorch itself does
for its compilers; what is then left is an error that names the function.

- **Results** are PyTorch's: `x.max(1)` is a pair of `values` and `indices`, `x.var()` divides by n - 1,
  `x.to(torch.float64)` and the types of mixtures are as in PyTorch. Where functions bend (`relu`
  at 0, `clamp` on a bound, norms at 0) derivatives are PyTorch's; entries that share a maximum share its gradient.
- **What is computed with a tensor of PyTorch's is one**: with functions of NumPy, of ricci, with formulas and
  patterns, and with arrays of NumPy beside it.
- **Tensors from outside** (parameters of a module, buffers, globals) are inputs, read at each call; what the function
  computes from them is traced. Tensors made in the function (`torch.arange(n)`) are constants. A module that changes,
  as by `model.train()`, is noticed.
- **Changes in place** (`x += 1`, `x.relu_()`, `y[0] = v`) are seen by views and other names. Changes of arguments and
  of tensors from outside are refused.
- **`torch.no_grad()`, `detach()`** make constants, as they do in PyTorch. A `torch.autograd.Function` is refused, for
  its derivative would be lost; `rc.custom` gives a function its rule.
- **Random numbers** are refused, unless a `torch.Generator` that is an argument draws them: call `model.eval()`, or
  draw outside.
- Eager tensors take PyTorch's functions with the same table: `torch.softmax(rc.Tensor([1.0, 2.0]), dim=0)`.
"""


def page() -> str:
    """The page, in Markdown."""
    groups: dict[str, set[str]] = {}
    for row in [*operations().values(), *whole_rows().values()]:
        groups.setdefault(row.group, set()).add(row.name)
    parts = [_HEAD.format(count=sum(map(len, groups.values())))]
    for group, title in TITLES.items():
        listed = ", ".join(
            [f"`{name}`" for name in sorted(groups[group], key=lambda name: (name.strip("_").lower(), name))]
        )
        parts.append(f"## {title}\n\n{listed}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")

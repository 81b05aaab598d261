"""PyTorch's DTensors: programs of tensors that are cut along the axes of a mesh of devices.

PyTorch follows the cuts through each operation and sends what is needed. Three things are done for it here. Tensors
that a program makes, indices, masks and constants, take part as if they were whole on each device. An operation for
which PyTorch knows no way with cuts gets its operands whole. And what comes out is a DTensor, also where it depends on
no input. Nothing is decided by values, which each process would see only a part of. Memory is not written through views
either, which DTensors have not: see ``TorchEmitter.part``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from ricci.compiler.backends.torch_table import torch
from ricci.errors import InputError

MODULE = "torch.distributed.tensor"
RUNNING = ("cumsum", "cumprod", "logcumsumexp")  # take an axis from the end for one that is whole (PyTorch 2.13)


def is_distributed(tensor: Any) -> bool:
    """Whether a tensor is a DTensor. Nothing is imported to know that: whoever has one has done so."""
    known = sys.modules.get(MODULE)
    return known is not None and isinstance(tensor, known.DTensor)


def mesh_of_tensors(tensors: Iterable[Any]) -> Any:
    """The mesh of PyTorch that the DTensors among some are on; none if there are none."""
    meshes = [tensor.device_mesh for tensor in tensors if is_distributed(tensor)]
    for other in meshes[1:]:
        if other != meshes[0]:
            raise InputError(
                f"The DTensors of a call are on two meshes, {meshes[0]} and {other}. Place them on one: "
                "distribute_tensor(x.full_tensor(), mesh, …)."
            )
    return meshes[0] if meshes else None


class DistributedRun:
    """A program whose inputs are DTensors, or some of them."""

    def __init__(self, run: Callable[..., Any]):
        self.run = run

    def __call__(self, *tensors: Any) -> Any:
        from torch.distributed.tensor.experimental import implicit_replication

        mesh = mesh_of_tensors(tensors)
        with implicit_replication(), _whole_where_needed():
            found = self.run(*tensors)
        return (
            tuple([on_mesh_of_tensors(mesh, x) for x in found])
            if isinstance(found, tuple)
            else on_mesh_of_tensors(mesh, found)
        )


def on_mesh_of_tensors(mesh: Any, tensor: Any) -> Any:
    """A tensor that each process has in full as a DTensor."""
    if mesh is None or is_distributed(tensor) or not isinstance(tensor, torch.Tensor):
        return tensor
    known = sys.modules[MODULE]
    return known.DTensor.from_local(tensor, mesh, [known.Replicate()] * mesh.ndim, run_check=False)


def _full(tensor: Any) -> Any:
    return tensor.full_tensor() if is_distributed(tensor) else tensor


def _whole_where_needed() -> Any:
    """Inside, an operation that PyTorch cannot do on parts is done on whole tensors, by each process."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves, tree_map

    class WholeWhereNeeded(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if func.__name__.partition(".")[0] in RUNNING and args[1] < 0:
                args = (args[0], args[1] + args[0].ndim, *args[2:])
            try:
                return func(*args, **kwargs)
            except (RuntimeError, NotImplementedError, ValueError, AssertionError):
                mesh = mesh_of_tensors(tree_leaves((args, kwargs)))
                if mesh is None:
                    raise
            args, kwargs = tree_map(_full, (args, kwargs))
            return tree_map(lambda x: on_mesh_of_tensors(mesh, x), func(*args, **kwargs))

    return WholeWhereNeeded()

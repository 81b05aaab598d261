"""The operations that are rows of ``ricci.functions``, under the names that PyTorch has for them.

Those that take more than the operands have lowerings of their own, in the other modules.
"""

from __future__ import annotations

import torch

from ricci.functions.table import named_in
from ricci.tracing.own_functions import array_function
from ricci.tracing.pytorch.aten import OPERATIONS, lowers
from ricci.tracing.pytorch.of_entries import of_one, of_two

for _name, _row in named_in("aten").items():
    if _name not in OPERATIONS and hasattr(torch.ops.aten, _name):
        lowers(_name)((of_one if _row.arity == 1 else of_two)(array_function(_row)))

"""Whole functions written for PyTorch: layers, changes in place, what comes from outside, mixtures, refusals."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_checking import agrees

import ricci as rc

pytestmark = pytest.mark.filterwarnings("ignore")
torch.manual_seed(0)
X = torch.randn(5, 8, dtype=torch.float64)
B = torch.randn(2, 5, 8, dtype=torch.float64)
IMAGES = torch.randn(2, 3, 4, 4, dtype=torch.float64)


LAYERS = {
    "mlp": lambda: nn.Sequential(nn.Linear(8, 6), nn.ReLU(inplace=True), nn.LayerNorm(6), nn.Dropout(0.1)),
    "attention": lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
    "lstm": lambda: nn.LSTM(8, 4, batch_first=True),
    "gru": lambda: nn.GRU(8, 4, num_layers=2, bidirectional=True, batch_first=True),
    "rnn": lambda: nn.RNN(8, 4),
    "activations": lambda: nn.Sequential(nn.GELU(), nn.SiLU(), nn.ELU(), nn.Softmax(-1), nn.PReLU(), nn.Hardswish()),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    model = LAYERS[name]().double().eval()

    def loss(x):
        result = model(x)
        return (result[0] if isinstance(result, tuple) else result).pow(2).sum()

    agrees(loss, B)


def test_convolutional_network():
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    model = nn.Sequential(model, nn.Linear(16, 2)).double().eval()
    agrees(lambda x: F.cross_entropy(model(x), torch.tensor([0, 1])), IMAGES)


def test_gradients_by_the_parameters_of_a_module():
    model = nn.Sequential(nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 3)).double()
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss(parameters):
        return torch.func.functional_call(model, parameters, (X,)).pow(2).mean()

    ours, theirs = rc.grad(loss)(parameters), torch.func.grad(loss)(parameters)
    assert ours.keys() == theirs.keys()
    for name in theirs:
        torch.testing.assert_close(ours[name], theirs[name])


def test_second_derivatives():
    x = X[0]
    smooth = [lambda x: x.var() * x.std(), lambda x: F.gelu(x).softmax(0).max()]
    for f in [*smooth, lambda x: F.layer_norm(x, (8,)).pow(3).sum()]:
        torch.testing.assert_close(rc.hessian(f)(x), torch.func.hessian(f)(x), rtol=1e-8, atol=1e-8)


def test_what_no_grad_and_detach_hide():
    def f(x):
        with torch.no_grad():
            m = x.mean()
        return ((x - m) ** 2).sum() * m + (x * x.detach()).sum() + (x * x.data).sum()

    agrees(f, X)


# Changes in place


def aliases(x):
    y = x * 2
    z = y
    y += 1
    y.mul_(3)
    y.relu_()
    return (z * x).sum()


def base_of_a_view(x):
    y = x * 2
    z = y[0]
    y += 1
    return z.prod() + y.sum()


def view(x):
    y = x * 2
    y.T[1:, 0].mul_(x[0, 1:])
    y.view(-1)[3:7].sub_(x[0, :4])
    right = y[:, 4:]
    y[:, :4].mul_(3)
    y[:, 3:5] += 1
    return (y * y).sum() + right.prod()


def filled_in_parts(x):
    y = torch.zeros_like(x)
    y[0] = x[1]
    y[:, 1:3] = x[:, :2] * 2
    y[1:, -1] += x[1:, 0]
    y[x > 1] = 3.0
    return (y * y).sum()


@pytest.mark.parametrize("f", [aliases, base_of_a_view, view, filled_in_parts])
def test_changes_in_place(f):
    agrees(f, X)


OUTSIDE = torch.ones(8, dtype=torch.float64)


def changes_its_argument(x):
    x += 1
    return x.sum()


def changes_what_is_outside(x):
    OUTSIDE.add_(1)
    return (x * OUTSIDE).sum()


def fills_a_tensor_of_numbers(x):
    y = torch.zeros(8)
    y[0] = x[0, 0]
    return y.sum()


def changes_under_no_grad(x):
    y = x * 2
    with torch.no_grad():
        y.add_(1)
    return y.sum()


@pytest.mark.parametrize(
    "f", [changes_its_argument, changes_what_is_outside, fills_a_tensor_of_numbers, changes_under_no_grad]
)
def test_changes_that_would_be_lost_are_refused(f):
    before = OUTSIDE.clone()
    with pytest.raises(rc.RuleError, match="in place"):
        rc.grad(f)(X)
    assert torch.equal(OUTSIDE, before)


# What comes from outside


def test_tensors_from_outside_are_read_at_each_call():
    w = torch.randn(8, 8, dtype=torch.float64, requires_grad=True)
    f = rc.compile(lambda x: (x @ w.t()).sum() * w.mean() + w[0].norm())
    for factor in (1.0, 2.0):
        with torch.no_grad():
            w.mul_(factor)
        torch.testing.assert_close(f(X).detach(), ((X @ w.t()).sum() * w.mean() + w[0].norm()).detach())


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.factor = nn.Sequential(nn.Linear(8, 3), nn.Dropout(0.5)), 2.0

    def forward(self, x):
        return self.inner(x) * self.factor


def test_a_module_that_changes_is_noticed():
    model = Scaled().double().eval()
    f = rc.compile(lambda x: model(x).sum())
    torch.testing.assert_close(f(X).detach(), model(X).sum().detach())
    model.inner[0].weight = nn.Parameter(torch.ones(3, 8, dtype=torch.float64))
    model.factor = 3.0
    torch.testing.assert_close(f(X).detach(), model(X).sum().detach())
    model.train()
    with pytest.raises(rc.TraceError, match="random"):
        f(X)


def test_tensors_made_in_the_function():
    def f(x):
        mask = torch.tril(torch.ones(5, 5)) == 0
        scores = (x @ x.T).masked_fill(mask, float("-inf")).softmax(-1)
        position = torch.arange(5, dtype=x.dtype, device=x.device)[:, None] / 5
        return (scores @ (x + position)).pow(2)[torch.tensor([True, False, True, True, False])].sum()

    agrees(f, X)


# Mixtures


def test_functions_of_numpy_and_ricci_give_tensors():
    def inner(y):
        return y.var() * y.sum()

    for f, g in [
        (lambda x: np.exp(x).var(), lambda x: torch.exp(x).var()),
        (lambda x: (x * np.arange(8.0)).std(0).sum(), lambda x: (x * torch.arange(8.0)).std(0).sum()),
        (lambda x: (np.arange(8.0) * x).std(0).sum(), lambda x: (x * torch.arange(8.0)).std(0).sum()),
        (lambda x: rc.softmax(x, -1).var(), lambda x: x.softmax(-1).var()),
        (lambda x: rc.rearrange(x, "a (b c) -> c a b", c=2).max(2)[0].sum(), lambda x: x.view(5, 4, 2).amax(1).sum()),
        (lambda x: rc.grad(inner)(x).std(), lambda x: torch.func.grad(inner)(x).std()),
        (lambda x: rc.vmap(lambda r: r.var())(x).std(), lambda x: x.var(1).std()),
        (lambda x: rc.checkpoint(lambda r: r.var(0))(x).std(), lambda x: x.var(0).std()),
        (lambda x: rc.parse("y[i] = x[i,j] x[i,j]")(x=x).var(), lambda x: (x * x).sum(1).var()),
    ]:
        torch.testing.assert_close(rc.compile(f)(X), g(X))
        torch.testing.assert_close(rc.grad(f)(X), torch.func.grad(g)(X))


def test_tensors_beside_arrays_of_numpy():
    a, w = np.random.default_rng(0).normal(size=(5, 8)), X[0]
    f = lambda x, w: torch.var(x * w, dim=0).sum() + (w * x).std() + (x + w).var()  # noqa: E731
    expected = torch.func.grad(f, argnums=1)(torch.tensor(a), w)
    torch.testing.assert_close(rc.grad(f, argnums=1)(a, w), expected)
    outside = rc.grad(lambda x: (x * w).var() + (w * x).var())(a)  # a tensor of PyTorch's makes its meaning
    expected = torch.func.grad(lambda x: 2 * (x * w).var())(torch.tensor(a))
    torch.testing.assert_close(torch.as_tensor(outside), expected)


def test_floats_as_arguments_do_not_widen():
    x = torch.ones(3)
    g, h = rc.grad(lambda x, rate: (rate * x).var() * rate + (rate * x).sum(), argnums=(0, 1))(x, 0.5)
    assert g.dtype == torch.float32 and float(h) == pytest.approx(3.0)


def test_rules_of_ones_own():
    @rc.custom
    def scaled(x):
        return x.var() * x

    @scaled.jvp
    def _(primals, tangents):
        (x,), (v,) = primals, tangents
        return x.var() * v + 2 * ((x - x.mean()) * v).sum() / (x.numel() - 1) * x

    bessel, slope = rc.custom(torch.special.i0), rc.custom(torch.special.i1)
    bessel.derivative(slope)
    slope.derivative(lambda x: bessel(x) - slope(x) / x)
    expected = torch.func.grad(lambda x: (x.var() * x).sum())(X[0])
    torch.testing.assert_close(rc.grad(lambda x: scaled(x).sum())(X[0]), expected)
    torch.testing.assert_close(rc.grad(lambda x: bessel(x).sum())(X[0]), torch.special.i1(X[0]))


# Refusals

REFUSED = {
    "dropout": (lambda x: F.dropout(x).sum(), ["random", "model.eval()"]),
    "randn": (lambda x: (x + torch.randn(8)).sum(), ["torch.randn", "argument"]),
    "rand_like": (lambda x: (x + torch.rand_like(x)).sum(), ["torch.rand_like"]),
    "if": (lambda x: x.sum() if x.sum() > 0 else -x.sum(), ["torch.where"]),
    "item": (lambda x: x.sum() * x[0, 0].item(), ["x.item()"]),
    "float": (lambda x: x.sum() * float(x[0, 0]), ["float(x)"]),
    "tolist": (lambda x: torch.tensor(x.tolist()).sum(), ["x.tolist(…)"]),
    "numpy": (lambda x: torch.tensor(x.detach().numpy()).sum(), ["x.numpy(…)"]),
    "tensor": (lambda x: torch.tensor([x[0, 0], x[0, 1]]).sum(), ["torch.stack"]),
    "mask": (lambda x: x[x > 0].sum(), ["depends on values", "torch.where"]),
    "nonzero": (lambda x: x.nonzero().sum() * x.sum(), ["torch.nonzero", "torch.where"]),
    "unique": (lambda x: x.unique().sum(), ["depends on the values"]),
    "backward": (lambda x: x.sum().backward(), ["rc.grad"]),
    "values from outside": (lambda x: x.sum() * OUTSIDE.numpy()[0], ["from outside"]),
    "igamma": (lambda x: torch.igamma(x, x).sum(), ["torch.igamma cannot be traced", "rc.custom"]),
    "out": (lambda x: torch.add(x, 1, out=torch.zeros_like(x)).sum(), ["out"]),
    "statistics": (lambda x: nn.BatchNorm1d(8).double()(x).sum(), ["model.eval()"]),
    "one_hot": (lambda x: F.one_hot(x.argmax(1)).sum() * x.sum(), ["num_classes"]),
    "axis": (lambda x: torch.sum(x, dim=5), ["torch.sum", "Dimension out of range"]),
    "shapes": (lambda x: (x @ x).sum(), ["matmul", "5x8"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_traced_is_refused_by_name(name):
    f, words = REFUSED[name]
    with pytest.raises(rc.RicciError) as error:
        rc.grad(f)(X)
    for word in words:
        assert word in str(error.value)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 100 * g


def test_a_derivative_of_its_own_is_not_lost():
    with pytest.raises(rc.TraceError, match=r"Square, a torch\.autograd\.Function"):
        rc.grad(lambda x: Square.apply(x).sum())(X)


def test_names_that_tensors_do_not_have():
    for name in ("astype", "copy", "at", "ravel_"):
        with pytest.raises(AttributeError, match=name):
            rc.grad(lambda x, name=name: getattr(x, name)(0).sum())(X)


def test_a_traced_tensor_outside_its_function():
    kept = []
    rc.grad(lambda x: (kept.append(x), x.sum())[1])(X)
    with pytest.raises(rc.TraceError, match="after the function"):
        kept[0] + 1
    with pytest.raises(rc.TraceError, match="after the function"):
        rc.compile(lambda x: x + kept[0])(X)


def test_generators_as_arguments_draw_at_each_call():
    f = rc.compile(lambda x, source: x.sum() * 0 + torch.randn(2, generator=source))
    source = torch.Generator().manual_seed(0)
    first, second = f(X, source), f(X, source)
    source.manual_seed(0)
    torch.testing.assert_close(first, torch.randn(2, generator=source))
    assert not torch.equal(first, second)


# Eager tensors

EAGER = [
    "torch.relu(x)",
    "torch.softmax(x, dim=0)",
    "F.gelu(x)",
    "torch.var(x, 1)",
    "torch.std(x)",
    "torch.median(x)",
    "torch.max(x, 1)",
    "torch.sort(x, descending=True)",
    "torch.repeat_interleave(x, 2)",
    "torch.cat([x, y])",
    "torch.stack((x, x), -1)",
    "torch.einsum('ij,kj->ik', x, y)",
    "F.cross_entropy(x, torch.tensor([1, 3, 0]))",
    "F.layer_norm(x, (4,))",
    "torch.linalg.norm(x)",
    "torch.where(torch.tensor([[True], [False], [True]]), x, y)",
    "torch.ones(4, dtype=torch.float64) * x",
    "x * torch.ones(4, dtype=torch.float64)",
]


@pytest.mark.parametrize("call", EAGER)
def test_eager_tensors(call):
    draw = np.random.default_rng(0)
    arrays = {"x": draw.normal(size=(3, 4)), "y": draw.normal(size=(3, 4))}

    def total(values):
        result = eval(call, {"torch": torch, "F": F, "np": np}, values)
        result = result[0] if isinstance(result, tuple) else result
        return result, (result * result).sum()

    ours = {name: rc.Tensor(a) for name, a in arrays.items()}
    theirs = {name: torch.tensor(a, requires_grad=True) for name, a in arrays.items()}
    (a, loss), (b, other) = total(ours), total(theirs)
    assert isinstance(a, rc.Tensor)
    np.testing.assert_allclose(a.numpy(), b.detach().numpy())
    loss.backward()
    other.backward()
    np.testing.assert_allclose(ours["x"].grad.numpy(), theirs["x"].grad.numpy(), atol=1e-12)  # pyright: ignore[reportOptionalMemberAccess]


def test_eager_results_have_names():
    found = torch.max(rc.Tensor([[1.0, 3.0], [5.0, 2.0]]), dim=1)  # pyright: ignore[reportArgumentType]
    assert found.values.tolist() == [3.0, 5.0] and found.indices.tolist() == [1, 0]


@pytest.mark.parametrize("name", ["igamma", "bernoulli"])
def test_eager_refusals(name):
    t = rc.Tensor([0.5, 0.7])
    with pytest.raises(rc.TraceError, match=f"torch.{name}"):
        getattr(torch, name)(*[t] * (2 if name == "igamma" else 1))


# Where functions bend

BENDS = torch.tensor([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0], dtype=torch.float64)
BENT = """
F.relu(x); x.abs(); x.clamp(0, 1); x.clamp(min=0); F.relu6(x); F.leaky_relu(x); F.elu(x); F.selu(x)
F.hardtanh(x); F.hardswish(x); F.softshrink(x); F.hardshrink(x); F.threshold(x, 0.0, 0.0); x.amax()
torch.maximum(x, 0 * x); F.l1_loss(x, 0 * x); F.huber_loss(x, 0 * x); x.norm(1); x.prod(); x.cumprod(0)
"""


@pytest.mark.parametrize("call", [call.strip() for line in BENT.strip().splitlines() for call in line.split(";")])
def test_derivatives_where_functions_bend(call):
    f = eval(f"lambda x: (({call}) * torch.cos(torch.arange(8.0)).double()).sum()", {"torch": torch, "F": F})
    agrees(f, BENDS)

"""Calls of PyTorch's functions and methods, as they are written, in the tensors of ``tensors()``.

Each line is a call of its own; several may come down to the same operation, by other names and forms of arguments.
"""

ENTRIES = """
x + y; x + 2; 2 + x; x - y; 2 - x; x * y; 2.5 * x; x / p; 2 / p; x / 3; -x; +x; abs(x); x ** 2; p ** 1.5; 2 ** x
p ** y; x % 0.7; x // 0.7; torch.add(x, y, alpha=2); x.add(1); torch.sub(x, y, alpha=0.5); x.sub(2); torch.rsub(x, y)
x.mul(y); x.div(p); torch.div(x, p, rounding_mode="floor"); torch.div(x, p, rounding_mode="trunc")
torch.true_divide(x, p); torch.floor_divide(x, 0.3); torch.remainder(x, 0.4); torch.fmod(x, 0.4); x.pow(3)
torch.pow(p, y); torch.float_power(p, 2); x.neg(); x.abs(); x.sign(); x.sgn(); p.sqrt(); p.rsqrt(); x.square()
x.exp(); x.exp2(); x.expm1(); p.log(); p.log2(); p.log10(); p.log1p(); x.sin(); x.cos(); x.tan(); x.sinh(); x.cosh()
x.tanh(); u.asin(); u.acos(); x.atan(); x.asinh(); (p + 1).acosh(); u.atanh(); torch.arcsin(u); torch.atan2(x, y)
x.arctan2(y); x.floor(); x.ceil(); x.round(); x.trunc(); x.frac(); x.fix(); torch.round(x, decimals=1); x.reciprocal()
x.sigmoid(); torch.special.expit(x); x.erf(); x.erfc(); u.erfinv(); p.lgamma(); p.digamma(); torch.polygamma(1, p)
torch.special.psi(p); torch.special.gammaln(p); torch.special.log1p(p); torch.sinc(x); torch.special.ndtr(x)
torch.special.ndtri(q); torch.special.log_ndtr(x); torch.special.entr(p); torch.special.xlogy(x, p); torch.xlogy(x, p)
torch.special.xlog1py(x, p); torch.special.logit(q); torch.logit(q, eps=0.1); torch.hypot(x, y); torch.logaddexp(x, y)
torch.logaddexp2(x, y); torch.maximum(x, y); torch.minimum(x, y); torch.fmax(x, y); torch.fmin(x, y); x.maximum(y)
torch.max(x, y); torch.min(x, y); torch.clamp(x, -0.5, 0.5); x.clamp(min=0.1); x.clamp(max=0.2); x.clip(-1, 1)
torch.clamp(x, min=y); torch.clamp_min(x, 0.1); x.clamp_max(0.1); torch.where(x > 0, x, y); torch.where(x > 0, x, 0.0)
torch.where(x > 0, 1.0, y); x.where(x > 0, y); x.masked_fill(x > 0, -1.0); torch.masked_fill(x, mask, 2.0)
torch.lerp(x, y, 0.3); x.lerp(y, p); torch.addcmul(x, y, p); torch.addcmul(x, y, p, value=0.5)
torch.addcdiv(x, y, p, value=2); torch.copysign(x, y); torch.heaviside(x, y); torch.nan_to_num(x); torch.deg2rad(x)
torch.rad2deg(x); torch.signbit(x); x == y; x != y; x < y; x <= 0; x > y; x >= 0.1; torch.eq(x, y); x.lt(0)
torch.isnan(x); torch.isfinite(x); torch.isinf(x); torch.isclose(x, y); torch.logical_and(x > 0, y > 0)
(x > 0) & (y > 0); (x > 0) | mask; (x > 0) ^ mask; ~mask; torch.logical_not(mask); torch.logical_or(mask, x > 0)
torch.logical_xor(mask, x > 0); i + 1; i * 2; i / 2; i // 2; i % 2; i ** 2; x + i3; x * mask; i * 2.5; x + v; x * s
s + 1; x.float(); x.double(); x.to(torch.float32); x.to("cpu"); x.to(y); x.type_as(y); x.long(); x.int(); x.bool()
mask.float(); mask.to(x.dtype); i.double(); x.to(torch.float64, copy=True); x.type(torch.float32); x.clone()
x.contiguous(); x.cpu(); torch.positive(x); torch.mvlgamma(p + 2, 2); torch.special.exp2(x); torch.square(x)
torch.negative(x); torch.subtract(x, y); torch.multiply(x, y); torch.divide(x, p); torch.absolute(x)
torch.greater(x, y)
"""

ACTIVATIONS = """
F.relu(x); torch.relu(x); x.relu(); F.relu6(x * 5); F.elu(x); F.elu(x, alpha=0.5); F.selu(x); F.celu(x, alpha=2.0)
F.gelu(x); F.gelu(x, approximate="tanh"); F.silu(x); F.mish(x); F.leaky_relu(x); F.leaky_relu(x, 0.2); F.prelu(x, w1)
F.prelu(x, v); F.softplus(x); F.softplus(x, beta=2); F.softplus(x * 30, threshold=5); F.softsign(x); F.sigmoid(x)
F.tanh(x); F.logsigmoid(x); F.hardtanh(x); F.hardtanh(x, -0.5, 0.7); F.hardswish(x * 3); F.hardshrink(x, 0.3)
F.softshrink(x, 0.3); F.tanhshrink(x); F.threshold(x, 0.1, 20.0); F.glu(x); F.glu(b, dim=-1); F.softmin(x, dim=1)
F.rrelu(x, training=False); F.relu(x.clone(), inplace=True); F.softmax(x, dim=-1); F.softmax(x, 0)
torch.softmax(x, dim=0); x.softmax(-1); x.softmax(dim=1); F.log_softmax(x, dim=-1); x.log_softmax(0)
torch.log_softmax(x, 1); F.softmax(x, dim=1, dtype=torch.float32); torch.sigmoid(x); torch.tanh(x); F.dropout(x, 0.0)
F.dropout(x, 0.5, training=False); F.dropout(x, training=False); F.normalize(x); F.normalize(x, p=1, dim=0)
F.cosine_similarity(x, y); F.cosine_similarity(x, y, dim=0); F.pairwise_distance(x, y); F.pdist(x)
F.alpha_dropout(x, training=False)
"""

REDUCTIONS = """
x.sum(); x.sum(0); x.sum(-1); x.sum(dim=1); x.sum((0, 1)); x.sum(dim=(0, -1)); x.sum(1, keepdim=True)
x.sum(axis=0, keepdims=True); torch.sum(x); torch.sum(x, 0); torch.sum(input=x, dim=1); torch.sum(x, dim=[0]); i.sum()
mask.sum(); x.sum(dtype=torch.float32); x.mean(); x.mean(0); x.mean(dim=-1, keepdim=True); torch.mean(x, (0, 1))
b.mean((0, 2)); x.prod(); x.prod(0); torch.prod(x, 1, keepdim=True); x.var(); x.var(0); x.var(dim=1, keepdim=True)
x.var(unbiased=False); x.var(0, unbiased=False); x.var(dim=1, correction=0); torch.var(x, dim=(0, 1), correction=2)
x.std(); x.std(0); x.std(-1, False); torch.std(x, 1, unbiased=False, keepdim=True); torch.var_mean(x, 0)
torch.std_mean(x, dim=1, correction=0); x.amax(); x.amax(0); x.amax(dim=(0, 1)); torch.amax(x, -1, keepdim=True)
x.amin(1); torch.amin(x, dim=0); x.max(); x.min(); torch.max(x); x.max(1); x.max(dim=0); torch.max(x, 1, keepdim=True)
x.min(-1); x.max(1)[0]; x.max(1).values; x.max(dim=-1).indices; torch.min(x, dim=0)[0]; x.argmax(); x.argmax(1)
x.argmax(dim=0, keepdim=True); torch.argmin(x, 1); x.argmin(); torch.aminmax(x); torch.aminmax(x, dim=0)
x.logsumexp(0); x.logsumexp(dim=(0, 1)); torch.logsumexp(x, 1, keepdim=True); x.norm(); x.norm(dim=1); x.norm(p=1)
x.norm(3, dim=0); x.norm(2, -1, keepdim=True); x.norm(float("inf")); torch.norm(x, "fro"); torch.norm(x, dim=0)
torch.linalg.norm(x); torch.linalg.norm(x, 1); torch.linalg.norm(v, 3); torch.linalg.norm(x, dim=1)
torch.linalg.vector_norm(x); torch.linalg.vector_norm(x, 1, dim=0); torch.linalg.vector_norm(x, float("inf"))
torch.linalg.matrix_norm(x); torch.linalg.matrix_norm(A, "nuc"); torch.linalg.norm(A, 2); torch.dist(x, y)
torch.dist(x, y, 1); x.any(); (x > 0).any(1); (x > 0).all(0); torch.all(mask); torch.any(mask, dim=0, keepdim=True)
torch.count_nonzero(mask); torch.count_nonzero(mask, dim=0); x.nansum(); torch.nanmean(x); (0 * x).std(0)
(x * 0).norm(); torch.cdist(x, x); (0 * x).norm(p=3, dim=1); F.normalize(x * 0); torch.dist(x, x); s.sum(); s.mean()
s.max(); s.prod(); torch.trace(A); x.cumsum(0); x.cumsum(dim=-1); torch.cumsum(x, 1); x.cumprod(0)
torch.cumprod(x, dim=1); x.diff(); torch.diff(x, dim=0); torch.cov(x); torch.corrcoef(x); torch.trapezoid(x)
torch.trapz(x, dim=0); torch.cumulative_trapezoid(x, dim=1); x.nanmean(0)
"""

ORDER = """
torch.sort(v)[0]; torch.sort(x); x.sort(0); x.sort(dim=1, descending=True); torch.sort(x, dim=-1, stable=True)
x.sort().values; x.argsort(); torch.argsort(x, dim=0, descending=True); x.topk(2); torch.topk(x, 2, dim=0)
x.topk(3, largest=False); x.topk(2)[0]; x.topk(1, -1, True, True).values; torch.median(v); x.median(); x.median(0)
x.median(dim=1, keepdim=True); torch.median(x, 1).values; b.median(-1)[0]; x.kthvalue(2); torch.kthvalue(x, 1, dim=0)
torch.quantile(x, 0.3); x.quantile(0.5, dim=1); torch.msort(x); i.sort(descending=True)
torch.sort(tied, descending=True); tied.argsort(descending=True); torch.searchsorted(grid, x)
torch.searchsorted(grid, x, right=True); torch.searchsorted(x.sort()[0].detach(), y); x.quantile(0.2, 0, True)
torch.quantile(x, torch.tensor([0.1, 0.5], dtype=x.dtype), dim=1); torch.bucketize(x, grid)
"""

SHAPES = """
x.view(-1); x.view(4, 3); x.view((2, 6)); x.view(2, -1); x.reshape(4, 3); x.reshape((12,)); torch.reshape(x, (2, -1))
x.view_as(z); x.reshape_as(z); x.permute(1, 0); x.permute((1, 0)); b.permute(2, 0, 1); torch.permute(b, (0, 2, 1))
x.transpose(0, 1); b.transpose(-1, -2); torch.transpose(b, 0, 2); x.t(); torch.t(x); x.T; x.mT; b.mT; x.swapaxes(0, 1)
b.swapdims(0, 2); torch.movedim(b, 0, -1); b.moveaxis((0, 1), (1, 2)); x.unsqueeze(0); x.unsqueeze(-1)
torch.unsqueeze(x, dim=1); x[None]; x[:, None]; c.squeeze(); c.squeeze(0); c.squeeze(1); torch.squeeze(c, -1)
c.squeeze((0, 2)); x.flatten(); b.flatten(1); b.flatten(0, 1); torch.flatten(b, start_dim=1, end_dim=-1); x.ravel()
b.unflatten(2, (2, 2)); x.expand(2, 3, 4); x.expand(2, -1, -1); v.expand(3, 4); v.expand_as(x)
torch.broadcast_to(v, (3, 4)); x.repeat(2, 1); x.repeat(2, 1, 3); v.repeat(2); x.repeat((1, 2)); x.tile(2)
torch.tile(x, (2, 2)); x.repeat_interleave(2); x.repeat_interleave(3, dim=0); torch.repeat_interleave(x, 2, dim=1)
torch.cat([x, y]); torch.cat((x, y), dim=1); torch.cat([x, y], -1); torch.concat([x, y]); torch.stack([x, y])
torch.stack((x, y), dim=-1); torch.hstack([x, y]); torch.vstack([x, y]); torch.dstack([x, y])
torch.column_stack([x, y]); x.split(2); x.split(3, dim=1); torch.split(x, [1, 3], dim=1); x.chunk(2)
torch.chunk(x, 3, dim=-1); x.unbind(); x.unbind(1); torch.unbind(b, dim=2); torch.tensor_split(x, 3, dim=1)
x.narrow(1, 1, 2); x.select(0, 1); torch.select(x, -1, 2); x.hsplit(2); b.unfold(2, 2, 1); x.unfold(0, 2, 1)
x.flip(0); x.flip((0, 1)); torch.flip(x, [1]); torch.fliplr(x); torch.flipud(x); x.roll(1); x.roll(1, 0)
torch.roll(x, (1, 2), (0, 1)); torch.rot90(x); x.diag(); v.diag(); torch.diag(A, 1); torch.diagonal(b, 0, 1, 2)
A.diagonal(); torch.diag_embed(x); torch.diag_embed(v, 1); torch.tril(A); A.triu(1); torch.triu(A, -1)
torch.block_diag(x, y); F.pad(x, (1, 2)); F.pad(x, (1, 1, 2, 0), value=3.0); F.pad(x, (-1, 1))
F.pad(b, (1, 1), mode="reflect"); F.pad(b, (1, 2), mode="replicate"); F.pad(b, (1, 1), mode="circular")
F.pixel_shuffle(g, 2); F.pixel_unshuffle(h, 2); torch.atleast_2d(v); torch.broadcast_tensors(x, v)[1]
torch.meshgrid(v, v, indexing="ij")[0]; torch.cartesian_prod(v, v); x[0]; x[-1]; x[:, 1]; x[1:, ::2]; x[..., 0]; x[i]
x[:, j]; x[i, j2]; x[i][:, 1]; x[[0, 2]]; x[torch.arange(2)]; x[torch.tensor([True, False, True])]; x[0, 1]
x[None, ..., None]; x[i, 1:]; x[torch.arange(3), k]; x[(x > 5).long()[0]]; x.new_zeros(2, 3); x.new_ones(3)
x.new_full((2,), 3.0); torch.zeros_like(x); torch.ones_like(x); torch.full_like(x, 2.0); torch.empty_like(x) * 0
x.new_tensor([1.0, 2.0]); x.zero_().sum() if False else x; len(x) * x; x.shape[0] * x; x.size(0) * x; x.size()[1] * x
x.dim() * x; x.ndim * x; x.numel() * x; x.nelement() * x; x.shape.numel() * x; x + torch.arange(4)
x * torch.eye(4)[:3]; x + torch.ones(3, 4, dtype=x.dtype, device=x.device); x * torch.linspace(0, 1, 4)
torch.zeros(3, 4) + x; torch.tensor(2.0) * x; x @ torch.eye(4, dtype=x.dtype); torch.full((4,), 2.0) * x
"""

PLACES = """
torch.gather(x, 1, gi); x.gather(0, gi0); x.gather(dim=1, index=gi); torch.index_select(x, 0, i); x.index_select(1, j)
torch.take(x, gi); torch.take_along_dim(x, gi, dim=1); x.scatter(1, gu, y[:, :2]); x.scatter(1, gi, 2.0)
torch.scatter(x, 0, gi0, y[:2]); x.scatter_add(1, gi, y[:, :2]); torch.scatter_add(x, 0, gi0, y[:2])
x.index_add(0, i, y[:2]); x.index_add(0, i, y[:2], alpha=2.0); x.index_copy(0, i, y[:2]); x.index_fill(0, i, 3.0)
x.index_put((i,), y[:2]); x.index_put((i, j2), y[0, :2], accumulate=True); torch.select_scatter(x, v, 0, 1)
torch.slice_scatter(x, y[:, :2], 1, 0, 2); F.embedding(i, x); F.embedding(gi, x.t()); F.embedding(i, x, padding_idx=0)
F.one_hot(i, 5); F.one_hot(i, num_classes=4) * 2.0; torch.masked_fill(x, mask, 0.0) + y
torch.where(mask, x, -1e9).softmax(-1)
"""

PRODUCTS = """
x @ A; A @ v; v @ A; v @ v; b @ A; torch.matmul(x, A); x.matmul(A); torch.mm(x, A); x.mm(A); torch.mv(A, v)
torch.dot(v, v2); v.dot(v2); torch.inner(x, y); torch.outer(v, v2); torch.ger(v, v2); torch.vdot(v, v2)
torch.bmm(b, b.mT); b.bmm(b.transpose(1, 2)); torch.addmm(y, x, A); torch.addmm(y, x, A, beta=0.5, alpha=2)
torch.addmv(v, A, v2); torch.baddbmm(bb, b, b.mT); torch.baddbmm(bb, b, b.mT, beta=0.0, alpha=0.5)
torch.addbmm(A3, b, b.mT); torch.addr(A, v, v2); torch.einsum("ij,jk->ik", x, A); torch.einsum("ij,ij->i", x, y)
torch.einsum("i,j->ij", v, v2); torch.einsum("...ij,...kj->...ik", b, b); torch.einsum("b i j, b k j -> b i k", b, b)
torch.einsum("ii->i", A); torch.einsum("ij->", x); torch.einsum("ij,jk", x, A)
torch.einsum("bij,jk,bil->bkl", b, A, b); torch.tensordot(x, A, dims=1); torch.tensordot(x, y, dims=([0], [0]))
torch.kron(x[:2, :2], A); torch.linalg.multi_dot([x, A, A]); torch.chain_matmul(x, A, A); torch.cross(x3, y3, dim=1)
torch.linalg.cross(x3, y3); torch.linalg.vecdot(x, y); torch.cdist(x, y); torch.cdist(x, y, p=1.0)
torch.linalg.matrix_power(A, 3); F.linear(x, A); F.linear(x, A, v); F.linear(b, A, v); F.linear(v, A)
F.bilinear(x, y, W3); F.bilinear(x, y, W3, bias3); F.scaled_dot_product_attention(b, b, b)
F.scaled_dot_product_attention(b, b, b, is_causal=True); F.scaled_dot_product_attention(b, b, b, attn_mask=m3)
F.scaled_dot_product_attention(b, b, b, attn_mask=m3b); F.scaled_dot_product_attention(b, b, b, scale=0.3)
F.scaled_dot_product_attention(q4, q4[:, :1], q4[:, :1], enable_gqa=True)
"""

LAYERS = """
F.layer_norm(x, (4,)); F.layer_norm(x, (4,), v, v2); F.layer_norm(b, (3, 4)); F.layer_norm(x, [4], eps=0.1)
F.group_norm(g, 2); F.group_norm(g, 2, w4, b4); F.instance_norm(g); F.batch_norm(x, m4, v4)
F.batch_norm(x, m4, v4, v, v2, eps=0.1); F.batch_norm(x, None, None, training=True)
F.batch_norm(g, None, None, w4, b4, training=True); F.batch_norm(g, m4, p4); F.rms_norm(x, (4,))
F.rms_norm(x, (4,), v, eps=0.1); F.local_response_norm(g, 2); F.conv1d(s1, k1)
F.conv1d(s1, k1, kb, stride=2, padding=1); F.conv1d(s1, k1, dilation=2); F.conv1d(s1, k1, padding="same")
F.conv1d(s1, k1, padding="valid"); F.conv1d(s1[0], k1); F.conv2d(g, k2); F.conv2d(g, k2, kb, padding=1, stride=2)
F.conv2d(g, k2, stride=(1, 2), padding=(0, 1)); F.conv2d(g, kg, groups=2); F.conv2d(g, kd, groups=4, padding=1)
F.conv_transpose1d(s1, kt, stride=2); F.conv_transpose1d(s1, kt, padding=1, output_padding=1, stride=2)
F.conv_transpose2d(g, kt2, stride=2); F.conv3d(g5, k3); F.max_pool1d(s1, 2); F.max_pool1d(s1, 3, stride=1, padding=1)
F.max_pool2d(g, 2); F.max_pool2d(g, (2, 1)); F.max_pool2d(g, 3, stride=2, padding=1)
F.max_pool2d(g, 2, ceil_mode=True, stride=3); F.avg_pool1d(s1, 2); F.avg_pool1d(s1, 3, stride=2, padding=1)
F.avg_pool2d(g, 2); F.avg_pool2d(g, 3, 2, 1); F.avg_pool2d(g, 3, 2, 1, count_include_pad=False)
F.avg_pool2d(g, 3, 2, 1, ceil_mode=True); F.avg_pool2d(g, 2, divisor_override=3); F.adaptive_avg_pool1d(s1, 3)
F.adaptive_avg_pool1d(s1, 1); F.adaptive_avg_pool2d(g, 2); F.adaptive_avg_pool2d(g, (1, 1))
F.adaptive_avg_pool2d(g, (3, None)); F.adaptive_max_pool2d(g, 2); F.adaptive_max_pool1d(s1, 1)
F.lp_pool1d(s1 + 3, 2, 2); F.unfold(g, 2); F.fold(F.unfold(g, 2), (4, 4), 2); F.interpolate(g, scale_factor=2)
F.interpolate(g, size=(3, 5), mode="bilinear"); F.interpolate(s1, size=4, mode="linear", align_corners=True)
F.upsample(g, scale_factor=2, mode="nearest")
"""

LOSSES = """
F.mse_loss(x, y); F.mse_loss(x, y, reduction="sum"); F.mse_loss(x, y, reduction="none"); F.l1_loss(x, y)
F.l1_loss(x, y, reduction="none"); F.smooth_l1_loss(x, y); F.smooth_l1_loss(x, y, beta=0.3, reduction="sum")
F.huber_loss(x, y, delta=0.4); F.cross_entropy(x, t); F.cross_entropy(x, t, reduction="sum")
F.cross_entropy(x, t, reduction="none"); F.cross_entropy(x, t, weight=p4); F.cross_entropy(x, t, label_smoothing=0.1)
F.cross_entropy(x, t, ignore_index=1); F.cross_entropy(x, probs); F.cross_entropy(x, probs, label_smoothing=0.2)
F.cross_entropy(g, t2); F.cross_entropy(v, t[0])
F.cross_entropy(x, t, weight=p4, label_smoothing=0.1, ignore_index=0); F.nll_loss(F.log_softmax(x, 1), t)
F.nll_loss(x, t, weight=p4, reduction="none"); F.nll_loss(x, t, ignore_index=2, reduction="sum")
F.binary_cross_entropy(q, q2); F.binary_cross_entropy(q, q2, weight=pc, reduction="sum")
F.binary_cross_entropy_with_logits(x, q); F.binary_cross_entropy_with_logits(x, q, pos_weight=p4)
F.binary_cross_entropy_with_logits(x, q, weight=pc, reduction="none"); F.kl_div(x, q)
F.kl_div(x, q, reduction="batchmean"); F.kl_div(x, q.log(), log_target=True, reduction="sum")
F.poisson_nll_loss(x, p); F.gaussian_nll_loss(x, y, p); F.soft_margin_loss(x, signs); F.hinge_embedding_loss(x, signs)
F.margin_ranking_loss(v, v2, signs[0]); F.triplet_margin_loss(x, y, p); F.cosine_embedding_loss(x, y, signs[:, 0])
F.multilabel_soft_margin_loss(x, q)
"""

MATRICES = """
torch.linalg.inv(S); torch.inverse(S); S.inverse(); torch.linalg.solve(S, v); torch.linalg.solve(S, A)
torch.linalg.solve(S, x, left=False); torch.linalg.det(S); torch.det(A); A.det(); torch.linalg.slogdet(S)
torch.slogdet(A)[1]; torch.logdet(S); S.logdet(); torch.linalg.cholesky(S); torch.linalg.cholesky(S, upper=True)
torch.cholesky_solve(x.T, torch.linalg.cholesky(S)); torch.linalg.eigvalsh(S); torch.linalg.eigh(S)[0]
torch.linalg.eigh(S).eigenvectors ** 2; torch.linalg.svdvals(x); torch.linalg.svd(x, full_matrices=False)[1]
torch.linalg.qr(S)[1]; torch.linalg.pinv(S); torch.linalg.matrix_exp(A / 3); torch.matrix_exp(A / 3)
torch.linalg.solve_triangular(S, A, upper=False); torch.linalg.solve_triangular(S, A, upper=True, unitriangular=True)
torch.linalg.cond(S); torch.linalg.diagonal(A); torch.linalg.norm(S, "nuc"); torch.pinverse(S)
"""

GROUPS = {
    "entries": ENTRIES,
    "activations": ACTIVATIONS,
    "reductions": REDUCTIONS,
    "order": ORDER,
    "shapes": SHAPES,
    "places": PLACES,
    "products": PRODUCTS,
    "layers": LAYERS,
    "losses": LOSSES,
    "matrices": MATRICES,
}
CASES = [
    (group, call.strip())
    for group, text in GROUPS.items()
    for line in text.split("\n")
    for call in line.split(";")
    if call.strip()
]

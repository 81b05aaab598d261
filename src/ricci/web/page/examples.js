// What can be clicked, each with what it shows.
export const EXAMPLES = [
  { title: "Logistic loss, Hessian", kind: "indices", text: "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))", by: "w, w", tab: "derivation" },
  { title: "Quadratic form", kind: "indices", text: "f = x[i] A[i,j] x[j]", by: "x" },
  { title: "Least squares", kind: "LaTeX", text: "\\ell = \\frac{1}{2} \\sum_i \\left(y_i - X_{ij} w_j\\right)^2", by: "w", tab: "derivation" },
  { title: "Cross entropy", kind: "LaTeX", text: "p_{bk} = \\frac{\\exp(z_{bk})}{\\sum_j \\exp(z_{bj})} \\\\\n\\ell = -y_{bk} \\log(p_{bk})", by: "z" },
  { title: "Ridge regression", kind: "matrices", text: "f = 1/2*norm2(A*x - b)^2 + lam*x'*x", by: "x", tab: "matrix" },
  { title: "Gaussian likelihood", kind: "matrices", text: "f = 1/2*log(det(S)) + 1/2*(x - mu)'*inv(S)*(x - mu)", declare: "mu[n] S: symmetric", by: "S", tab: "matrix" },
  { title: "Matrix factorisation", kind: "indices", text: "l = 1[i,j] M[i,j] (T[i,j] - U[i,k] V[j,k])**2", by: "U, U", tab: "structure" },
  { title: "Attention", kind: "indices", text: "p[b,h,i,j] = softmax[j](q[b,h,i,d] k[b,h,j,d] / sqrt(|d|))\no[b,h,i,e] = p[b,h,i,j] v[b,h,j,e]", by: "v", tab: "structure" },
  { title: "Layer norm", kind: "indices", text: "m[b] = 1/|h| 1[h] x[b,h]\nv[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2\ny[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h]", by: "x", tab: "graph" },
  { title: "Convolution", kind: "indices", text: "c[i] = x[i+k] w[k]", by: "w", tab: "values" },
  { title: "A loss in Python", kind: "NumPy", text: "def loss(w, X, y):\n    z = y * (X @ w)\n    return np.log1p(np.exp(-z)).sum()", by: "w", tab: "code" },
  { title: "Rosenbrock's function", kind: "NumPy", text: "def rosenbrock(x):\n    return (100 * (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2).sum()", by: "x", tab: "values" },
  { title: "Gaussian process", kind: "indices", text: "l = 1/2 logdet(K) + 1/2 y[i] inv(K)[i,j] y[j]", by: "K", tab: "derivation" },
  { title: "Metric and vectors", kind: "above and below", text: "s = g_{i j} x^i y^j", by: "x" },
];

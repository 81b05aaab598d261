"""Functions over axes in C, for the last axes of arrays that lie row by row."""

REDUCES = {
    "prod": "double y = 1.0;\nfor (int i = 0; i < n; i++) y *= x[i];\nreturn y;",
    "max": "double y = x[0];\nfor (int i = 1; i < n; i++) if (x[i] > y || isnan(x[i])) y = x[i];\nreturn y;",
    "min": "double y = x[0];\nfor (int i = 1; i < n; i++) if (x[i] < y || isnan(x[i])) y = x[i];\nreturn y;",
    "argmax": "long y = 0;\nfor (int i = 1; i < n && !isnan(x[y]); i++)\n    if (x[i] > x[y] || isnan(x[i])) y = i;\n"
    "return y;",
    "argmin": "long y = 0;\nfor (int i = 1; i < n && !isnan(x[y]); i++)\n    if (x[i] < x[y] || isnan(x[i])) y = i;\n"
    "return y;",
    "any": "for (int i = 0; i < n; i++) if (x[i] != 0) return 1;\nreturn 0;",
    "all": "for (int i = 0; i < n; i++) if (x[i] == 0) return 0;\nreturn 1;",
    "logsumexp": "double top = x[0], y = 0.0;\nfor (int i = 1; i < n; i++) if (x[i] > top) top = x[i];\n"
    "if (isinf(top)) return top;\n"
    "for (int i = 0; i < n; i++) y += exp(x[i] - top);\nreturn top + log(y);",
}
WHOLE = {"argmax": "long", "argmin": "long", "any": "int", "all": "int", "argsort": "long"}
KEEPS = {
    "softmax": "double top = x[0], total = 0.0;\nfor (int i = 1; i < n; i++) if (x[i] > top) top = x[i];\n"
    "for (int i = 0; i < n; i++) total += y[i] = exp(x[i] - top);\nfor (int i = 0; i < n; i++) y[i] /= total;",
    "log_softmax": "double total = logsumexp(n, x);\nfor (int i = 0; i < n; i++) y[i] = x[i] - total;",
    "hardmax": "double top = x[0];\nint count = 0;\nfor (int i = 1; i < n; i++) if (x[i] > top) top = x[i];\n"
    "for (int i = 0; i < n; i++) count += x[i] == top;\n"
    "for (int i = 0; i < n; i++) y[i] = (double)(x[i] == top) / count;",
    "hardmin": "double top = x[0];\nint count = 0;\nfor (int i = 1; i < n; i++) if (x[i] < top) top = x[i];\n"
    "for (int i = 0; i < n; i++) count += x[i] == top;\n"
    "for (int i = 0; i < n; i++) y[i] = (double)(x[i] == top) / count;",
    "cumprod": "double total = 1.0;\nfor (int i = 0; i < n; i++) y[i] = total *= x[i];",
    "cumsum": "double total = 0.0;\nfor (int i = 0; i < n; i++) y[i] = total += x[i];",
    "cumsum_back": "double total = 0.0;\nfor (int i = n - 1; i >= 0; i--) y[i] = total += x[i];",
    "prod_before": "double total = 1.0;\nfor (int i = 0; i < n; i++) {\n    y[i] = total;\n    total *= x[i];\n}",
    "prod_after": "double total = 1.0;\nfor (int i = n - 1; i >= 0; i--) {\n    y[i] = total;\n    total *= x[i];\n}",
    "sort": "for (int i = 0; i < n; i++) {\n    int j = i;\n"
    "    for (; j > 0 && (y[j - 1] > x[i] || (isnan(y[j - 1]) && !isnan(x[i]))); j--) y[j] = y[j - 1];\n"
    "    y[j] = x[i];\n}",
    "argsort": "for (int i = 0; i < n; i++) {\n    int j = i;\n"
    "    for (; j > 0 && (x[y[j - 1]] > x[i] || (isnan(x[y[j - 1]]) && !isnan(x[i]))); j--) y[j] = y[j - 1];\n"
    "    y[j] = i;\n}",
}
# of a matrix: what it gives, the text
MATRIX = {
    "solve": (
        "void solve(int n, int m, const double *a, const double *b, double *x)",
        "x with a x = b, by elimination with pivots.",
        """double u[n * n + 1];
for (int i = 0; i < n * n; i++) u[i] = a[i];
for (int i = 0; i < n * m; i++) x[i] = b[i];
for (int k = 0; k < n; k++) {
    int p = k;
    for (int i = k + 1; i < n; i++) if (fabs(u[i * n + k]) > fabs(u[p * n + k])) p = i;
    if (p != k) {
        for (int j = 0; j < n; j++) { double t = u[k * n + j]; u[k * n + j] = u[p * n + j]; u[p * n + j] = t; }
        for (int j = 0; j < m; j++) { double t = x[k * m + j]; x[k * m + j] = x[p * m + j]; x[p * m + j] = t; }
    }
    for (int i = k + 1; i < n; i++) {
        double c = u[i * n + k] / u[k * n + k];
        for (int j = k; j < n; j++) u[i * n + j] -= c * u[k * n + j];
        for (int j = 0; j < m; j++) x[i * m + j] -= c * x[k * m + j];
    }
}
for (int k = n - 1; k >= 0; k--) {
    for (int j = 0; j < m; j++) {
        for (int i = k + 1; i < n; i++) x[k * m + j] -= u[k * n + i] * x[i * m + j];
        x[k * m + j] /= u[k * n + k];
    }
}""",
    ),
    "pivots": (
        "double pivots(int n, const double *a, double *y)",
        "The pivots of elimination; 1, or -1 where rows changed places an odd number of times.",
        """double u[n * n + 1], sign = 1.0;
for (int i = 0; i < n * n; i++) u[i] = a[i];
for (int k = 0; k < n; k++) {
    int p = k;
    for (int i = k + 1; i < n; i++) if (fabs(u[i * n + k]) > fabs(u[p * n + k])) p = i;
    for (int j = 0; j < n && p != k; j++) { double t = u[k * n + j]; u[k * n + j] = u[p * n + j]; u[p * n + j] = t; }
    sign = p != k ? -sign : sign;
    y[k] = u[k * n + k];
    for (int i = k + 1; i < n && y[k] != 0; i++) {
        double c = u[i * n + k] / y[k];
        for (int j = k; j < n; j++) u[i * n + j] -= c * u[k * n + j];
    }
}
return sign;""",
    ),
    "det": (
        "double det(int n, const double *a)",
        "",
        "double p[n + 1], y = pivots(n, a, p);\nfor (int i = 0; i < n; i++) y *= p[i];\nreturn y;",
    ),
    "logdet": (
        "double logdet(int n, const double *a)",
        "The logarithm of the size of the determinant.",
        "double p[n + 1], y = 0.0;\npivots(n, a, p);\nfor (int i = 0; i < n; i++) y += log(fabs(p[i]));\nreturn y;",
    ),
    "slogdet_sign": (
        "double slogdet_sign(int n, const double *a)",
        "",
        "double p[n + 1], y = pivots(n, a, p);\nfor (int i = 0; i < n; i++) y *= (p[i] > 0) - (p[i] < 0);\nreturn y;",
    ),
    "inv": (
        "void inv(int n, const double *a, double *y)",
        "",
        "double eye[n * n + 1];\nfor (int i = 0; i < n * n; i++) eye[i] = i % (n + 1) == 0;\nsolve(n, n, a, eye, y);",
    ),
    "cholesky": (
        "void cholesky(int n, const double *a, double *y)",
        "The lower factor of the symmetric part.",
        """for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
        double rest = (a[i * n + j] + a[j * n + i]) / 2;
        for (int k = 0; k < j && j <= i; k++) rest -= y[i * n + k] * y[j * n + k];
        y[i * n + j] = j > i ? 0.0 : j == i ? sqrt(rest) : rest / y[j * n + j];
    }
}""",
    ),
    "expm": (
        "void expm(int n, const double *a, double *y)",
        "The series of a / 2^s, squared s times.",
        """double size = 0.0, term[n * n + 1], next[n * n + 1];
int s = 3;
for (int i = 0; i < n * n; i++) size += fabs(a[i]);
while (size > 1) { size /= 2; s++; }
for (int i = 0; i < n * n; i++) y[i] = term[i] = i % (n + 1) == 0;
for (int k = 1; k < 24; k++) {
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
        next[i * n + j] = 0.0;
        for (int l = 0; l < n; l++) next[i * n + j] += term[i * n + l] * ldexp(a[l * n + j], -s) / k;
    }
    for (int i = 0; i < n * n; i++) y[i] += term[i] = next[i];
}
for (; s > 0; s--) {
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
        next[i * n + j] = 0.0;
        for (int l = 0; l < n; l++) next[i * n + j] += y[i * n + l] * y[l * n + j];
    }
    for (int i = 0; i < n * n; i++) y[i] = next[i];
}""",
    ),
    "expm_along": (
        "void expm_along(int n, const double *a, const double *e, double *y)",
        "How exp(a) changes along e: a corner of exp([[a, e], [0, a]]).",
        """double b[4 * n * n + 1], c[4 * n * n + 1];
for (int k = 0; k <= 4 * n * n; k++) b[k] = 0.0;
for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
    b[i * 2 * n + j] = b[(i + n) * 2 * n + j + n] = a[i * n + j];
    b[i * 2 * n + j + n] = e[i * n + j];
}
expm(2 * n, b, c);
for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i * n + j] = c[i * 2 * n + j + n];""",
    ),
    "eigh": (
        "void eigh(int n, const double *a, double *w, double *v)",
        "Eigenvalues, ascending, and eigenvectors, in columns, of the symmetric part: rotations of Jacobi.",
        """double s[n * n + 1];
for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
    s[i * n + j] = (a[i * n + j] + a[j * n + i]) / 2;
    v[i * n + j] = i == j;
}
for (int sweep = 0; sweep < 60; sweep++) for (int p = 0; p < n; p++) for (int q = p + 1; q < n; q++) {
    if (s[p * n + q] == 0) continue;
    double r = (s[q * n + q] - s[p * n + p]) / (2 * s[p * n + q]);
    double t = (r < 0 ? -1 : 1) / (fabs(r) + sqrt(r * r + 1)), c = 1 / sqrt(t * t + 1), d = t * c;
    for (int k = 0; k < n; k++) {
        double x = s[k * n + p], y = s[k * n + q];
        s[k * n + p] = c * x - d * y;
        s[k * n + q] = d * x + c * y;
        x = v[k * n + p], y = v[k * n + q];
        v[k * n + p] = c * x - d * y;
        v[k * n + q] = d * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double x = s[p * n + k], y = s[q * n + k];
        s[p * n + k] = c * x - d * y;
        s[q * n + k] = d * x + c * y;
    }
}
for (int i = 0; i < n; i++) w[i] = s[i * n + i];
for (int i = 1; i < n; i++) for (int j = i; j > 0 && w[j - 1] > w[j]; j--) {
    double t = w[j]; w[j] = w[j - 1]; w[j - 1] = t;
    for (int k = 0; k < n; k++) { t = v[k * n + j]; v[k * n + j] = v[k * n + j - 1]; v[k * n + j - 1] = t; }
}""",
    ),
    "eigvalsh": (
        "void eigvalsh(int n, const double *a, double *y)",
        "",
        "double v[n * n + 1];\neigh(n, a, y, v);",
    ),
    "eigh_vectors": (
        "void eigh_vectors(int n, const double *a, double *y)",
        "",
        "double w[n + 1];\neigh(n, a, w, y);",
    ),
    "recurrence": (
        "void recurrence(int n, int m, const double *a, const double *b, double *y)",
        "y[0] = 0, y[i+1] = a[i] y[i] + b[i].",
        "for (int j = 0; j < m; j++) y[j] = 0.0;\nfor (int i = 0; i + 1 < n; i++) for (int j = 0; j < m; j++)\n"
        "    y[(i + 1) * m + j] = a[i] * y[i * m + j] + b[i * m + j];",
    ),
    "recurrence_back": (
        "void recurrence_back(int n, int m, const double *a, const double *b, double *y)",
        "0 at the last, y[i-1] = a[i] y[i] + b[i].",
        "for (int j = 0; j < m; j++) y[(n - 1) * m + j] = 0.0;\n"
        "for (int i = n - 1; i > 0; i--) for (int j = 0; j < m; j++)\n"
        "    y[(i - 1) * m + j] = a[i] * y[i * m + j] + b[i * m + j];",
    ),
    "triangular_solve": (
        "void triangular_solve(int n, int m, const double *a, const double *b, double *x, int lower, int turned)",
        "x with a x = b, of one triangle of a, or of its transpose.",
        """double t[n * n + 1];
for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
    int p = turned ? j : i, q = turned ? i : j;
    t[i * n + j] = (lower ? q <= p : q >= p) ? a[p * n + q] : 0.0;
}
solve(n, m, t, b, x);""",
    ),
}
NEEDS = {
    "log_softmax": ("logsumexp",),
    "det": ("pivots",),
    "logdet": ("pivots",),
    "slogdet_sign": ("pivots",),
    "inv": ("solve",),
    "expm_along": ("expm",),
    "eigvalsh": ("eigh",),
    "eigh_vectors": ("eigh",),
    "triangular_solve": ("solve",),
}
ENTRY = {
    "logaddexp": "static double logaddexp(double a, double b) {\n"
    "    return a == b ? a + log(2.0) : fmax(a, b) + log1p(exp(-fabs(a - b)));\n}",
    "log_ndtr": "static double log_ndtr(double x) {\n"
    "    if (x > -30) return log(erfc(-sqrt(0.5) * x) / 2);\n    double z = 1 / (x * x);\n"
    "    double y = z * (1 - z * (3 - z * (15 - z * (105 - z * 945))));\n"
    "    return log1p(-y) - x * x / 2 - log(-x) - 0.9189385332046727;\n}",
    "mod": "static double mod(double a, double b) {\n    return a - floor(a / b) * b;\n}",
    "sign": "static double sign(double x) {\n    return isnan(x) ? x : (x > 0) - (x < 0);\n}",
    "maximum": "static double maximum(double a, double b) {\n    return a > b || isnan(a) ? a : b;\n}",
    "minimum": "static double minimum(double a, double b) {\n    return a < b || isnan(a) ? a : b;\n}",
    "digamma": "static double digamma(double x) {\n    double y = 0.0;\n    for (; x < 12; x++) y -= 1 / x;\n"
    "    double z = 1 / (x * x);\n    return y + log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - "
    "z / 240)));\n}",
}


def with_needs(names: list[str]) -> list[str]:
    """Names of helpers, those that they need before them."""
    found: list[str] = []
    for name in names:
        for one in [*with_needs([*NEEDS.get(name, ())]), name]:
            if one not in found:
                found.append(one)
    return found


def c_helper(name: str) -> str:
    """The text of a helper."""
    if name in ENTRY:
        return ENTRY[name]
    if name in REDUCES:
        head, note, body = f"{WHOLE.get(name, 'double')} {own_name(name)}(int n, const double *x)", "", REDUCES[name]
    elif name in KEEPS:
        head, note, body = (
            f"void {own_name(name)}(int n, const double *x, {WHOLE.get(name, 'double')} *y)",
            "",
            KEEPS[name],
        )
    else:
        head, note, body = MATRIX[name]
    above = f"// {note}\n" if note else ""
    inner = "\n".join([f"    {line}" for line in body.splitlines()])
    return f"{above}static {head} {{\n{inner}\n}}"


def own_name(name: str) -> str:
    """The name of a helper, where C has another function of that name."""
    return {"max": "largest", "min": "smallest", "any": "any_of", "all": "all_of", "prod": "prod"}.get(name, name)

// In place of KaTeX where it is not installed: the LaTeX that ricci writes, as MathML, which browsers set themselves.
// A piece of MathML is an array: the element, its attributes, and what is in it. What is not known is an error, and
// the page then shows the LaTeX.
const NAMESPACE = "http://www.w3.org/1998/Math/MathML";
const GREEK = {
  alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ϵ", varepsilon: "ε", zeta: "ζ", eta: "η", theta: "θ", vartheta: "ϑ", iota: "ι",
  kappa: "κ", lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", pi: "π", varpi: "ϖ", rho: "ρ", varrho: "ϱ", sigma: "σ", varsigma: "ς", tau: "τ",
  upsilon: "υ", phi: "ϕ", varphi: "φ", chi: "χ", psi: "ψ", omega: "ω", Gamma: "Γ", Delta: "Δ", Theta: "Θ", Lambda: "Λ", Xi: "Ξ", Pi: "Π",
  Sigma: "Σ", Upsilon: "Υ", Phi: "Φ", Psi: "Ψ", Omega: "Ω",
};
const LETTERS = { ...GREEK, partial: "∂", ell: "ℓ", infty: "∞", nabla: "∇", hbar: "ℏ", imath: "ı", jmath: "ȷ", emptyset: "∅", dots: "…", ldots: "…", cdots: "⋯", top: "⊤", intercal: "⊺", prime: "′" };
const SIGNS = {
  cdot: "⋅", times: "×", odot: "⊙", otimes: "⊗", oplus: "⊕", oslash: "⊘", ominus: "⊖", circ: "∘", bullet: "∙", star: "⋆", ast: "∗", div: "÷",
  pm: "±", mp: "∓", le: "≤", leq: "≤", ge: "≥", geq: "≥", ne: "≠", neq: "≠", equiv: "≡", approx: "≈", sim: "∼", propto: "∝", in: "∈", mid: "∣",
  to: "→", rightarrow: "→", leftarrow: "←", mapsto: "↦", wedge: "∧", vee: "∨", land: "∧", lor: "∨", neg: "¬", lnot: "¬", cup: "∪", cap: "∩",
  colon: ":", backslash: "\\", setminus: "∖", dagger: "†",
};
const LARGE = { sum: "∑", prod: "∏", bigwedge: "⋀", bigvee: "⋁", bigoplus: "⨁", bigotimes: "⨂", int: "∫" };
const FENCES = {
  lceil: "⌈", rceil: "⌉", lfloor: "⌊", rfloor: "⌋", lVert: "‖", rVert: "‖", Vert: "‖", lvert: "|", rvert: "|", vert: "|", langle: "⟨", rangle: "⟩",
  lbrace: "{", rbrace: "}", "{": "{", "}": "}", "|": "‖",
};
const NAMED = new Set(
  ("arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log max min Pr sec sin sinh sup " + "tan tanh").split(" "),
);
const BELOW = new Set(["max", "min", "sup", "inf", "lim"]);
const SPACES = { ",": 0.167, ":": 0.222, ">": 0.222, ";": 0.278, "!": -0.167, " ": 0.25, quad: 1, qquad: 2, enspace: 0.5, thinspace: 0.167 };
const ACCENTS = { hat: "^", widehat: "^", tilde: "~", widetilde: "~", bar: "¯", overline: "¯", dot: "˙", ddot: "¨", vec: "→", check: "ˇ" };
const SKIPPED = new Set(["displaystyle", "textstyle", "scriptstyle", "allowbreak", "nobreak", "limits", "nolimits", "big", "Big", "bigl", "bigr", "Bigl", "Bigr", "bigg", "Bigg", "strut", "mathstrut"]);
const TEXTS = { text: "mtext", textrm: "mtext", textit: "mtext", textbf: "mtext", mbox: "mtext", mathrm: "mi", operatorname: "mi", mathit: "mi", mathbf: "mi", boldsymbol: "mi", mathsf: "mi", mathtt: "mi", mathcal: "mi", mathbb: "mi" };
const AROUND = { matrix: ["", ""], pmatrix: ["(", ")"], bmatrix: ["[", "]"], vmatrix: ["|", "|"], Vmatrix: ["‖", "‖"], cases: ["{", ""], aligned: ["", ""], array: ["", ""], smallmatrix: ["", ""], gathered: ["", ""], split: ["", ""] };
const BOLD = { A: 0x1d400, a: 0x1d41a, 0: 0x1d7ce };

class Reader {
  constructor(latex) {
    this.tokens = latex.match(/\\[A-Za-z]+\*?|\\[^]|[{}^_&~]|\d+(?:\.\d+)?|\s+|[^]/gu) ?? [];
    this.at = 0;
    this.depth = 0; // of scripts
  }

  get next() {
    while (/^\s/.test(this.tokens[this.at] ?? "")) this.at += 1;
    return this.tokens[this.at];
  }

  take() {
    const token = this.next;
    if (token === undefined) throw new Error("The formula ends too early.");
    this.at += 1;
    return token;
  }

  // What stands until one of these signs, which is left.
  row(...ends) {
    const found = [];
    while (this.next !== undefined && !ends.includes(this.next)) {
      const one = this.scripted();
      if (one) found.push("+−".includes(one[2]) && opens(found.at(-1)) ? ["mo", { form: "prefix" }, one[2]] : one);
    }
    if (this.next === undefined && ends.length) throw new Error(`There is no ${ends[0]}.`);
    return found.length === 1 ? found[0] : ["mrow", {}, ...found];
  }

  group(end = "}") {
    const found = this.row(end);
    this.take();
    return found;
  }

  argument() {
    return this.next === "{" ? (this.take(), this.group()) : this.atom();
  }

  script() {
    this.depth += 1;
    const found = (this.take(), this.argument());
    this.depth -= 1;
    return found;
  }

  // An atom with what is above and below it.
  scripted() {
    const large = LARGE[this.next?.slice(1)] !== undefined || BELOW.has(this.next?.slice(1));
    const base = this.next === "^" || this.next === "_" ? ["mrow", {}] : this.atom();
    let above = [];
    let below = null;
    for (;;) {
      if (this.next === "'") above.push(this.primes());
      else if (this.next === "^") above.push(this.script());
      else if (this.next === "_") below = this.script();
      else break;
    }
    if (!base || (!above.length && !below)) return base;
    const over = above.length > 1 ? ["mrow", {}, ...above] : above[0];
    const [both, down, up] = large ? ["munderover", "munder", "mover"] : ["msubsup", "msub", "msup"];
    return over && below ? [both, {}, base, below, over] : below ? [down, {}, base, below] : [up, {}, base, over];
  }

  primes() {
    let text = "";
    for (; this.next === "'"; this.take()) text += "′";
    return ["mo", this.depth ? { scriptlevel: "+0" } : {}, text]; // in an index as large as the index
  }

  atom() {
    const token = this.take();
    if (token === "{") return this.group();
    if (token === "~") return space(SPACES[" "]);
    if (/^\d/.test(token)) return ["mn", {}, token];
    if (/^\p{L}/u.test(token)) return ["mi", {}, token];
    if (token === "}" || token === "&") throw new Error(`'${token}' is not opened.`);
    if (token[0] !== "\\") return sign(token === "-" ? "−" : token === "*" ? "∗" : token);
    return this.command(token.slice(1));
  }

  command(name) {
    if (SKIPPED.has(name)) return null;
    if (name in SPACES) return space(SPACES[name]);
    if (name in LETTERS) return ["mi", {}, LETTERS[name]];
    if (name in SIGNS) return sign(SIGNS[name]);
    if (name in LARGE) return ["mo", { movablelimits: "true", largeop: "true" }, LARGE[name]];
    if (name in FENCES) return fence(FENCES[name], false);
    if (NAMED.has(name)) return this.named(["mi", {}, name]);
    if (name in TEXTS) return this.word(name);
    if (name in ACCENTS) return ["mover", { accent: "true" }, this.argument(), ["mo", { stretchy: name.startsWith("wide") || name === "overline" ? "true" : "false" }, ACCENTS[name]]];
    if (name === "frac" || name === "tfrac" || name === "dfrac") return ["mfrac", {}, this.argument(), this.argument()];
    if (name === "binom") return ["mrow", {}, sign("("), ["mfrac", { linethickness: "0" }, this.argument(), this.argument()], sign(")")];
    if (name === "sqrt") return this.root();
    if (name === "left") return this.fenced();
    if (name === "begin") return this.environment();
    if (name === "underbrace") return ["munder", {}, this.argument(), ["mo", { stretchy: "true" }, "⏟"]];
    if ("_%#&$".includes(name)) return sign(name);
    throw new Error(`\\${name} is not known.`);
  }

  root() {
    if (this.next !== "[") return ["msqrt", {}, this.argument()];
    this.take();
    const index = this.group("]");
    return ["mroot", {}, this.argument(), index];
  }

  delimiter() {
    const token = this.take();
    if (token === ".") return null;
    return fence(token[0] === "\\" ? (FENCES[token.slice(1)] ?? token) : token, true);
  }

  fenced() {
    const parts = [this.delimiter()];
    for (;;) {
      parts.push(this.row("\\right", "\\middle"));
      const end = this.take();
      parts.push(this.delimiter());
      if (end === "\\right") return ["mrow", {}, ...parts.filter(Boolean)];
    }
  }

  // A name of several letters, upright or bold, or words.
  word(kind) {
    if (this.next !== "{") return ["mi", {}, this.take()];
    this.take();
    let depth = 1;
    let text = "";
    for (;;) {
      const token = this.tokens[this.at++];
      if (token === undefined) throw new Error("There is no }.");
      depth += (token === "{") - (token === "}");
      if (!depth) break;
      const name = token.slice(1);
      text += token[0] === "\\" ? (LETTERS[name] ?? SIGNS[name] ?? (/^[A-Za-z]/.test(name) || ",;:!".includes(name) ? "" : name)) : "{}".includes(token) ? "" : token;
    }
    if (TEXTS[kind] === "mtext") return ["mtext", {}, text.replace(/^ | $/g, "\u00a0")];
    if (kind === "mathbf" || kind === "boldsymbol") text = text.replace(/[A-Za-z0-9]/g, bold);
    const upright = kind !== "mathit" && [...text].length === 1;
    const made = ["mi", upright ? { mathvariant: "normal" } : {}, text];
    return kind === "operatorname" ? this.named(made) : made;
  }

  // The name of a function, and a little room before what it is taken of, unless that has brackets.
  named(made) {
    const room = space(SPACES[","]);
    const close = this.next === undefined || ["(", "\\left", "^", "_", "}", "[", ")", "&", "\\right", ","].includes(this.next);
    return ["mrow", {}, ...(this.at > 2 ? [room] : []), made, ...(close ? [] : [room])];
  }

  environment() {
    const name = this.brace().replace("*", "");
    if (!(name in AROUND)) throw new Error(`\\begin{${name}} is not known.`);
    if (name === "array") this.brace();
    const rows = [[]];
    for (;;) {
      rows.at(-1).push(this.row("&", "\\\\", "\\end"));
      const end = this.take();
      if (end === "\\\\") rows.push([]);
      if (end === "\\end") break;
    }
    this.brace();
    if (rows.at(-1).length === 1 && rows.at(-1)[0].length === 2) rows.pop();
    const aligned = name === "aligned" || name === "split";
    const cell = (content, column) => ["mtd", aligned ? { class: column % 2 ? "left" : "right" } : {}, content];
    const table = ["mtable", { class: name, ...(aligned ? { displaystyle: "true", columnalign: "right left" } : name === "cases" ? { columnalign: "left" } : {}) }, ...rows.map((row) => ["mtr", {}, ...row.map(cell)])];
    const [before, after] = AROUND[name];
    return ["mrow", {}, ...(before ? [fence(before, true)] : []), table, ...(after ? [fence(after, true)] : [])];
  }

  brace() {
    let name = "";
    for (let token = (this.take(), this.take()); token !== "}"; token = this.take()) name += token;
    return name;
  }
}

// Whether a sign after this is that of what follows, and not between two things.
function opens(before) {
  return !before || (before[0] === "mo" && !")]}|‖⟩′!".includes(before[2]));
}

function sign(text) {
  if (text === "|") return fence(text, false);
  return ["mo", "()[]".includes(text) ? { stretchy: "false" } : {}, text];
}

function fence(text, stretchy) {
  return ["mo", { stretchy: String(stretchy), fence: "true" }, text];
}

function space(width) {
  return ["mspace", { width: `${width}em` }];
}

function bold(letter) {
  const [first, start] = /\d/.test(letter) ? ["0", BOLD[0]] : letter < "a" ? ["A", BOLD.A] : ["a", BOLD.a];
  return String.fromCodePoint(start + letter.charCodeAt(0) - first.charCodeAt(0));
}

// The MathML of a formula, as arrays: pieces between which a line may end, since browsers break none inside of them.
export function mathml(latex) {
  const pieces = latex.split("\\allowbreak").flatMap((part) => broken(new Reader(part).row()));
  return pieces.map((piece) => ["math", { displaystyle: "true" }, ...piece]);
}

// A row, ended before each sign of its outermost level that has something on both sides.
function broken(row) {
  const pieces = [[]];
  let open = 0;
  for (const one of row[0] === "mrow" ? row.slice(2) : [row]) {
    const sign = one[0] === "mo" ? one[2] : "";
    open += "([".includes(sign) && sign ? 1 : ")]".includes(sign) && sign ? -1 : 0;
    const between = sign && "=+−≈≤≥≠".includes(sign) && one[1].form !== "prefix";
    if (between && !open && pieces.at(-1).length) pieces.push([["mo", { form: "infix" }, sign]]);
    else pieces.at(-1).push(one);
  }
  return pieces.filter((piece) => piece.length);
}

function elements([name, attributes, ...children]) {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.map((child) => (typeof child === "string" ? child : elements(child))));
  return made;
}

export default {
  render(latex, place) {
    place.replaceChildren(...mathml(latex).flatMap((piece) => [elements(piece), document.createElement("wbr")]));
  },
};

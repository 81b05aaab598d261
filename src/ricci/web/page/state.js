// What is asked: in the controls of the page, in the fragment of its address, and as a request.
export const DEFAULTS = {
  text: "", language: "auto", by: "", each: false, order: 1, mode: "auto", declare: "", sizes: "",
  tab: "formula", detail: "normal", sums: false, code: "numpy",
};
export const TABS = ["formula", "derivation", "structure", "matrix", "graph", "code", "values"];

const CHOICES = {
  tab: TABS, detail: ["brief", "normal", "full"], code: ["numpy", "torch", "jax", "julia", "c", "latex"],
  language: ["auto", "index", "latex", "matrix", "numpy"], mode: ["auto", "forward", "reverse", "cross-country"],
};
const FIELDS = ["text", "language", "by", "order", "mode", "declare", "sizes"];

// The fragment has what is not as at first: `#text=f+%3D+x%5Bi%5D+x%5Bi%5D&by=x`.
export function toFragment(state) {
  const said = new URLSearchParams();
  for (const [key, first] of Object.entries(DEFAULTS)) {
    if (state[key] !== first) said.set(key, String(state[key]));
  }
  return said.toString();
}

// Whether a fragment says what is asked; others are places on the page.
export function isState(fragment) {
  return [...new URLSearchParams(fragment.replace(/^#/, "")).keys()].some((key) => Object.hasOwn(DEFAULTS, key));
}

export function fromFragment(fragment) {
  const said = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = { ...DEFAULTS };
  for (const [key, first] of Object.entries(DEFAULTS)) {
    if (!said.has(key)) continue;
    const value = said.get(key);
    if (typeof first === "boolean") state[key] = value === "true";
    else if (typeof first === "number") state[key] = Math.min(6, Math.max(1, Math.trunc(Number(value)) || first));
    else if (!CHOICES[key] || CHOICES[key].includes(value)) state[key] = value;
  }
  return state;
}

export function toControls(state) {
  for (const key of FIELDS) {
    document.getElementById(key).value = state[key];
  }
  document.getElementById("each").checked = state.each;
  if (state.mode !== "auto" || state.order !== 1 || state.declare || state.sizes) document.getElementById("options").open = true;
}

export function fromControls(state) {
  for (const key of FIELDS) state[key] = document.getElementById(key).value;
  state.order = Math.min(6, Math.max(1, Math.trunc(Number(state.order)) || 1));
  state.each = document.getElementById("each").checked;
}

// The names between commas that stand in no bracket: `w[p,q], x` is two.
export function names(text) {
  return text.split(/,(?![^[{]*[\]}])/).map((one) => one.trim()).filter(Boolean);
}

// `i=3, j = 4`; what is no such thing has no number, and Python says so.
export function sizes(text) {
  const found = {};
  for (const part of text.replace(/\s*=\s*/g, "=").split(/[,;\s]+/).filter(Boolean)) {
    const [name, number] = part.split("=");
    found[name] = /^\d+$/.test(number ?? "") ? Number(number) : null;
  }
  return found;
}

export function toRequest(state, want) {
  return {
    text: state.text, language: state.language, by: names(state.by), each: state.each, order: state.order,
    mode: state.mode, declare: state.declare, sizes: sizes(state.sizes), want, detail: state.detail,
    sums: state.sums, code: state.code,
  };
}

// What stands in each tab: functions of a formula of the answer, of the state, and of what changes the state.
import { copying, element, formula, picture, scrolling } from "./elements.js";
import { panning } from "./panning.js";

export const TITLES = {
  formula: "Formula", derivation: "Derivation", structure: "Structure", matrix: "Matrices", graph: "Graph", code: "Code", values: "Values",
};
const LANGUAGES = { numpy: "NumPy", torch: "PyTorch", jax: "JAX", julia: "Julia", c: "C", latex: "LaTeX algorithm" };
const DETAILS = { brief: "brief", normal: "normal", full: "full" };

const VIEWS = { formula: ofFormula, derivation: ofDerivation, structure: ofStructure, matrix: ofMatrix, graph: ofGraph, code: ofCode, values: ofValues };

// Fills a panel with the view of all formulas of an answer.
export function fill(panel, name, answer, state, change) {
  const bar = BARS[name]?.(state, change);
  const blocks = answer.formulas.map((one) => {
    const reason = one.missing?.[name];
    const title = answer.formulas.length > 1 ? [element("h2", { "aria-label": one.name ?? "" }, formula(one.left ?? one.name ?? "", {}))] : [];
    return element("div", { class: "block" }, ...title, ...(reason ? [element("p", { class: "reason" }, reason)] : VIEWS[name](one)));
  });
  const inner = blocks.length === 1 && bar ? blocks[0].querySelector(".bar") : null;
  if (inner) {
    bar.append(...inner.childNodes); // one formula needs one row of buttons
    inner.remove();
  }
  panel.replaceChildren(...(bar ? [bar] : []), ...blocks);
}

// Controls above some of them.
const BARS = {
  derivation: (state, change) =>
    element("div", { class: "bar" },
      choice("Steps:", "detail", DETAILS, state.detail, change),
      element("label", { class: "check" }, checkbox("sums", state.sums, change), "Write sums out")),
  code: (state, change) => element("div", { class: "bar" }, choice("Language:", "code", LANGUAGES, state.code, change)),
};

function choice(label, key, options, chosen, change) {
  const select = element("select", { id: key });
  for (const [value, title] of Object.entries(options)) {
    select.append(element("option", { value, selected: value === chosen }, title));
  }
  select.addEventListener("change", () => change({ [key]: select.value }));
  return element("label", {}, label, select);
}

function checkbox(key, checked, change) {
  const box = element("input", { type: "checkbox", id: key, checked });
  box.addEventListener("change", () => change({ [key]: box.checked }));
  return box;
}

function part(title, child, text) {
  const row = element("div", { class: "row" }, element("h3", {}, title), ...(text === undefined ? [] : [copying(text)]));
  return element("div", { class: "part" }, row, child);
}

function text(content, label, wrapped = false) {
  return element("pre", { class: wrapped ? "text wrapped" : "text", tabindex: "0", role: "group", "aria-label": label }, content);
}

function display(latex, label) {
  return formula(latex, { class: "display", tabindex: "0", role: "group", "aria-label": label }, latex.includes("\\begin{aligned}"));
}

function ofFormula(one) {
  return [
    display(one.latex, "The result"),
    part("Index notation", text(one.text, "In index notation", true), one.text),
    part("LaTeX", text(one.latex, "In LaTeX", true), one.latex),
  ];
}

function ofDerivation(one) {
  const { lines, text: plain, latex } = one.derivation;
  const list = element("ol", { class: "steps" });
  for (const line of lines) {
    const math = formula(line.latex, { class: "math", tabindex: "0", role: "group", "aria-label": line.text });
    list.append(element("li", {}, math, element("span", { class: "rule" }, line.rule)));
  }
  return [element("div", { class: "bar" }, element("span", { class: "end" }, copying(plain, "text"), copying(latex, "LaTeX"))), list];
}

function ofStructure(one) {
  const { text: said, svg } = one.structure;
  const shown = svg ? element("div", { class: "picture", tabindex: "0", role: "group", "aria-label": "A picture of the structure" }, larger(picture(svg))) : element("p", { class: "reason" }, "There is no picture of so many axes.");
  return [shown, part("In words", text(said, "The structure in words", true), said)];
}

function larger(svg, factor = 1.5) {
  for (const side of ["width", "height"]) svg.setAttribute(side, String(factor * Number.parseFloat(svg.getAttribute(side))));
  return svg;
}

function ofMatrix(one) {
  const { latex, text: plain } = one.matrix;
  return [display(latex, "In matrix notation"), part("Text", text(plain, "As text", true), plain), part("LaTeX", text(latex, "In LaTeX", true), latex)];
}

function ofGraph(one) {
  const { svg, dot } = one.graph;
  const { box, buttons } = panning(picture(svg), "The graph of the operations");
  const end = element("span", { class: "end" }, copying(svg, "SVG"), copying(dot, "DOT"));
  return [element("div", { class: "bar" }, ...buttons, end), box];
}

function ofCode(one) {
  const { text: code, note } = one.code;
  return [
    element("div", { class: "bar" }, ...(note ? [element("span", { class: "quiet" }, note)] : []), element("span", { class: "end" }, copying(code))),
    text(code, "Code"),
  ];
}

function ofValues(one) {
  const { inputs, result } = one.values;
  const blocks = [element("h3", {}, "For these small arrays"), element("div", { class: "arrays" }, ...inputs.map(array)), part("the value is", array(result))];
  if (one.check) {
    const { agrees, text: said } = one.check;
    const kind = agrees === true ? "good" : agrees === false ? "bad" : "";
    blocks.push(element("p", { class: `verdict ${kind}` }, element("span", { "aria-hidden": "true" }, { good: "✓", bad: "✗" }[kind] ?? "–"), said));
  }
  return blocks;
}

function array({ name, shape, entries }) {
  const title = element("p", {}, `${name}${shape.length ? ` (${shape.join(" × ")})` : ""}`);
  if (shape.length > 2) return element("div", {}, title, text(nested(entries), name));
  const rows = shape.length === 0 ? [[entries]] : shape.length === 1 ? [entries] : entries;
  const body = element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((one) => element("td", {}, String(one))))));
  return element("div", {}, title, scrolling(element("table", { class: "values" }, body), name));
}

// Matrices below one another, with the places of the first axes before each.
function nested(entries, places = []) {
  if (!Array.isArray(entries[0]) || !Array.isArray(entries[0][0])) {
    const rows = Array.isArray(entries[0]) ? entries : [entries];
    return `[${places.join(", ")}]\n${rows.map((row) => row.map((one) => String(one).padStart(10)).join(" ")).join("\n")}`;
  }
  return entries.map((one, place) => nested(one, [...places, place])).join("\n\n");
}

// Elements of the page made by name, formulas set by KaTeX, texts that can be copied.
import katex from "./katex/katex.mjs";

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// A formula in LaTeX; where KaTeX cannot set it, the LaTeX itself.
export function formula(latex, attributes = {}, display = false) {
  const place = element("div", attributes);
  try {
    katex.render(display ? latex : breaking(latex), place, { displayMode: display, fleqn: true, strict: false, trust: false, maxSize: 50, maxExpand: 1000 });
  } catch {
    place.textContent = latex;
  }
  return place;
}

// Between factors on the outermost level a line may be broken; KaTeX does so at signs by itself.
export function breaking(latex) {
  let depth = 0;
  let out = "\\displaystyle ";
  for (const piece of latex.match(/\\(?:left|right|begin\{[a-z]+\}|end\{[a-z]+\}|[a-zA-Z]+|.)|[^\\]/gs) ?? []) {
    if (piece === "{" || piece === "\\left" || piece.startsWith("\\begin")) depth += 1;
    if (piece === "}" || piece === "\\right" || piece.startsWith("\\end")) depth -= 1;
    out += piece === " " && depth === 0 && /[})\]]$/.test(out) && !/\\sum_\{[^{}]*\}$/.test(out) ? " \\allowbreak " : piece;
  }
  return out;
}

export function copying(text, label = "Copy") {
  const title = label === "Copy" ? "Copy" : `Copy ${label}`;
  const button = element("button", { type: "button", "aria-label": title }, title);
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text)) ? "Copied" : "Not allowed";
    setTimeout(() => (button.textContent = title), 1200);
  });
  return button;
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element("textarea", { class: "hidden", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// A picture that Python has drawn; styles in it are left out, since the page's policy allows none.
export function picture(svg) {
  const parsed = new DOMParser().parseFromString(svg.replace(/ style="[^"]*"/g, ""), "image/svg+xml").documentElement;
  if (parsed.nodeName !== "svg" || parsed.querySelector("script, foreignObject")) return element("p", {}, "The picture cannot be shown.");
  return document.importNode(parsed, true);
}

// A box that scrolls sideways where what is in it is too wide, and can then be reached by the keyboard.
export function scrolling(child, label) {
  return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, child);
}

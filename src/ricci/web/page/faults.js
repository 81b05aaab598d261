// An error below the text: what is wrong, the line with carets under the fault, and what to write instead.
import { element } from "./elements.js";

export function complain(place, text, error) {
  place.hidden = !error;
  if (!error) {
    text.removeAttribute("aria-invalid");
    place.replaceChildren();
    return;
  }
  const own = error.in === undefined;
  if (own) text.setAttribute("aria-invalid", "true");
  else text.removeAttribute("aria-invalid");
  const said = [element("p", {}, error.message)];
  if (error.line !== undefined) {
    const lines = (error.in ?? error.text ?? text.value).split("\n");
    const line = (lines[error.line - 1] ?? "").replaceAll("\t", " ");
    const length = Math.max(1, Math.min(error.length, line.length - error.column + 2));
    const carets = `${" ".repeat(Math.max(0, error.column - 1))}${"^".repeat(length)}`;
    const shown = element("pre", { tabindex: "0", role: "group", "aria-label": `Line ${error.line}, column ${error.column}` }, `${line}\n`, element("span", { class: "carets" }, carets));
    said.push(shown);
  }
  if (error.hint) said.push(element("p", { class: "hint" }, error.hint));
  place.replaceChildren(...said);
}

// The page: what is typed goes to Python, what comes back goes into the tabs, and the address holds all of it.
import { Asking } from "./asking.js";
import { copy, element, formula } from "./elements.js";
import { EXAMPLES } from "./examples.js";
import { complain } from "./faults.js";
import { DEFAULTS, fromControls, fromFragment, isState, names, toControls, toFragment, toRequest } from "./state.js";
import { Tabs } from "./tabs.js";
import { TITLES, fill } from "./views.js";

const PAUSE = 250; // milliseconds without a key until what is typed is read
const READ = { index: "index notation", latex: "LaTeX", matrix: "matrices", numpy: "NumPy" };
const FIRST = { text: EXAMPLES[0].text, by: EXAMPLES[0].by, tab: "derivation" };

const at = (id) => document.getElementById(id);
let state = { ...DEFAULTS };
let answers = {}; // of what is asked now: by view
let asked = ""; // what is asked, without the view
let timer = 0;

const asking = new Asking(hear);
const tabs = new Tabs(at("tabs"), at("panels"), TITLES, (name) => {
  state.tab = name;
  remember();
  view();
});

// The lamp and the status line.

function say(text, lamp) {
  at("status").textContent = text;
  at("lamp").className = `lamp ${lamp}`;
  at("stop").disabled = !asking?.busy;
}

function hear(kind, detail) {
  const said = {
    starting: ["Python starts …", "busy"], ready: ["Ready", "good"], asking: ["Computing …", "busy"], stopped: ["Stopped", "bad"],
    late: ["Stopped: it took too long", "bad"], broken: [`Python could not be started: ${detail}`, "bad"],
  }[kind];
  queueMicrotask(() => say(...said));
  if (kind === "stopped" || kind === "late") past(tabs.panel(state.tab), said[0]);
  if (kind === "ready") {
    document.documentElement.dataset.ready = "true";
    document.documentElement.dataset.started = JSON.stringify({ runtime: detail.runtime, modules: detail.modules });
  }
}

// What is asked.

function changed(pause = PAUSE) {
  fromControls(state);
  clearTimeout(timer);
  for (const panel of document.querySelectorAll(".panel")) panel.classList.add("stale");
  timer = setTimeout(() => {
    remember();
    view();
  }, pause);
}

function remember() {
  const fragment = toFragment(state);
  if (fragment === location.hash.slice(1)) return;
  try {
    history.replaceState(null, "", `#${fragment}`);
  } catch { // some browsers allow so many a minute
    setTimeout(remember, 5000);
  }
}

// Shows the chosen view: from what was answered before, if that is still what is asked, or from a new answer.
async function view() {
  clearTimeout(timer);
  const now = JSON.stringify({ ...toRequest(state, []), tab: undefined });
  if (now !== asked) answers = {};
  asked = now;
  const name = state.tab;
  if (!state.text.trim()) {
    blank();
    shown();
    return;
  }
  if (!answers[name]) {
    tabs.panel(name).classList.add("stale");
    const answer = await asking.ask(toRequest(state, name === "formula" ? ["formula"] : ["formula", name]));
    if (answer === null || now !== asked) return;
    answers[name] = answer;
    say(answer.ok ? `Answered in ${Math.round(answer.took)} ms` : "There is a fault in what is asked", answer.ok ? "good" : "bad");
  }
  show(answers[name], name);
  shown();
}

// Counts what was shown, for those who wait for it.
function shown() {
  const { dataset } = document.documentElement;
  dataset.answer = String(Number(dataset.answer ?? 0) + 1);
}

function show(answer, name) {
  complain(at("problem"), at("text"), answer.ok ? null : answer.error);
  at("preview").hidden = !answer.ok;
  if (!answer.ok) {
    at("warnings").hidden = true;
    past(tabs.panel(name), "The formula has a fault");
    return;
  }
  at("warnings").hidden = !answer.warnings;
  at("warnings").textContent = (answer.warnings ?? []).join("\n");
  at("read-as").textContent = state.language === "auto" ? `read as ${READ[answer.language]}` : "read as";
  at("preview").replaceChildren(formula(answer.read.latex, {}, answer.read.latex.includes("\\begin{aligned}")));
  at("variables").replaceChildren(...answer.variables.map(chip));
  const panel = tabs.panel(name);
  const focused = document.activeElement?.id;
  fill(panel, name, answer, state, (some) => {
    Object.assign(state, some);
    remember();
    view();
  });
  panel.classList.remove("stale");
  if (focused && panel.contains(at(focused))) at(focused).focus();
}

// What is in a panel is of an earlier text, and nothing is computed that would take its place.
function past(panel, why) {
  const old = panel.querySelector(".past");
  const note = element("p", { class: "reason past" }, why + (panel.children.length > (old ? 1 : 0) ? ". Below is what was there before." : "."));
  old?.remove();
  panel.prepend(note);
  panel.classList.remove("stale");
}

function blank() {
  complain(at("problem"), at("text"), null);
  at("preview").replaceChildren();
  at("variables").replaceChildren();
  tabs.panel(state.tab).replaceChildren(element("p", { class: "reason" }, "Write a formula, or choose an example."));
  tabs.panel(state.tab).classList.remove("stale");
  say("Ready", "good");
}

function chip(variable) {
  const button = formula(variable.latex, {});
  const made = element("button", { type: "button", disabled: !variable.differentiable, title: variable.differentiable ? `Differentiate by ${variable.name}` : "Whole numbers, used as indices" }, button);
  made.addEventListener("click", () => {
    at("by").value = [...names(at("by").value), variable.name].join(", ");
    changed(0);
  });
  return made;
}

function load(some) {
  state = { ...DEFAULTS, ...some };
  toControls(state);
  tabs.choose(state.tab, false);
  remember();
  view();
}

// What can be done.

for (const one of EXAMPLES) {
  const button = element("button", { type: "button" }, one.title, element("span", {}, one.kind));
  button.addEventListener("click", () => load({ text: one.text, by: one.by, declare: one.declare ?? "", tab: one.tab ?? "formula" }));
  at("examples").append(button);
}
at("asked").addEventListener("input", (event) => changed(event.target.tagName === "SELECT" || event.target.type === "checkbox" ? 0 : PAUSE));
at("asked").addEventListener("submit", (event) => {
  event.preventDefault();
  changed(0);
});
at("clear").addEventListener("click", () => {
  at("by").value = "";
  at("by").focus();
  changed(0);
});
at("stop").addEventListener("click", () => asking.stop());
at("link").addEventListener("click", async () => {
  remember();
  at("link").textContent = (await copy(location.href)) ? "Copied" : "Copy the address";
  setTimeout(() => (at("link").textContent = "Copy link"), 1200);
});
addEventListener("hashchange", () => (isState(location.hash) ? load(fromFragment(location.hash)) : remember()));
document.querySelector(".skip").addEventListener("click", (event) => { // the address is that of what is asked
  event.preventDefault();
  at("results").focus();
});
at("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) changed(0);
});

load(isState(location.hash) ? fromFragment(location.hash) : FIRST);

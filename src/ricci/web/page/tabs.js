// Tabs as WAI-ARIA has them: arrows, Home and End move, and the panel of the chosen one is shown.
import { element } from "./elements.js";

export class Tabs {
  constructor(list, panels, titles, chosen) {
    this.list = list;
    this.panels = panels;
    this.chosen = chosen;
    for (const [name, title] of Object.entries(titles)) {
      const tab = element("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}` }, title);
      tab.addEventListener("click", () => this.choose(name));
      tab.addEventListener("keydown", (event) => this.key(event, Object.keys(titles), name));
      list.append(tab);
      panels.append(element("div", { class: "panel", role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabindex: "0", hidden: true }));
    }
  }

  key(event, names, name) {
    const place = names.indexOf(name);
    const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = names[(to + names.length) % names.length];
    this.choose(next);
    document.getElementById(`tab-${next}`).focus();
  }

  choose(name, tell = true) {
    for (const tab of this.list.children) {
      const own = tab.id === `tab-${name}`;
      tab.setAttribute("aria-selected", String(own));
      tab.tabIndex = own ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !own;
      if (own) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    if (tell) this.chosen(name);
  }

  panel(name) {
    return document.getElementById(`panel-${name}`);
  }
}

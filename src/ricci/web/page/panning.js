// A drawing that is moved with the mouse, a finger or arrows, and made larger with the wheel, + and -.
import { element } from "./elements.js";

export function panning(svg, label) {
  const whole = svg.getAttribute("viewBox").split(/\s+/).map(Number);
  let view = [...whole];
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  const box = element("div", { class: "drawing", tabindex: "0", role: "group", "aria-label": `${label}. Arrows move it, plus and minus change its size, 0 shows all of it.` }, svg);
  box.style.aspectRatio = `${whole[2]} / ${whole[3]}`;
  const show = () => svg.setAttribute("viewBox", view.map((one) => one.toFixed(2)).join(" "));

  function zoom(factor, x = 0.5, y = 0.5) {
    const width = Math.min(whole[2] * 4, Math.max(whole[2] / 40, view[2] * factor));
    const height = (width * view[3]) / view[2];
    view = [view[0] + (view[2] - width) * x, view[1] + (view[3] - height) * y, width, height];
    show();
  }
  function move(x, y) {
    view = [view[0] + x * view[2], view[1] + y * view[3], view[2], view[3]];
    show();
  }
  function fit() {
    view = [...whole];
    show();
  }

  const keys = {
    ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1),
    "+": () => zoom(0.8), "=": () => zoom(0.8), "-": () => zoom(1.25), 0: fit,
  };
  box.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  box.addEventListener("wheel", (event) => {
    event.preventDefault();
    const place = box.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.15 : 0.87, (event.clientX - place.left) / place.width, (event.clientY - place.top) / place.height);
  }, { passive: false });
  let last = null;
  box.addEventListener("pointerdown", (event) => {
    last = [event.clientX, event.clientY];
    box.setPointerCapture(event.pointerId);
    box.classList.add("moving");
  });
  box.addEventListener("pointermove", (event) => {
    if (!last) return;
    const place = box.getBoundingClientRect();
    move((last[0] - event.clientX) / place.width, (last[1] - event.clientY) / place.height);
    last = [event.clientX, event.clientY];
  });
  for (const name of ["pointerup", "pointercancel"]) {
    box.addEventListener(name, () => {
      last = null;
      box.classList.remove("moving");
    });
  }
  const button = (text, title, act) => element("button", { type: "button", "aria-label": title, title, onclick: act }, text);
  const buttons = [button("+", "Larger", () => zoom(0.8)), button("−", "Smaller", () => zoom(1.25)), button("Fit", "Fit: show all of it", fit)];
  return { box, buttons };
}

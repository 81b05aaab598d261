// Formulas are set by KaTeX where it is there; without it they stay as LaTeX. Pages change without being loaded anew.
function setFormulas() {
  if (typeof renderMathInElement === "undefined") return;
  document.querySelectorAll(".arithmatex").forEach((place) =>
    renderMathInElement(place, {
      delimiters: [
        { left: "\\(", right: "\\)", display: false },
        { left: "\\[", right: "\\]", display: true },
      ],
      throwOnError: false,
      strict: false,
    })
  );
}
document.addEventListener("DOMContentLoaded", setFormulas);

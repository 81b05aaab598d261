// Python, in a thread of its own, so that the page never waits for it. One request is answered after another.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const started = performance.now();

async function start() {
  const here = new URL(".", import.meta.url).href;
  const [python, modules] = await Promise.all([
    loadPyodide({ indexURL: `${here}pyodide/`, fullStdLib: false }),
    fetch(`${here}ricci.zip`).then((answer) => {
      if (!answer.ok) throw new Error(`ricci.zip could not be loaded: ${answer.status}.`);
      return answer.arrayBuffer();
    }),
  ]);
  const loaded = performance.now();
  python.FS.writeFile("/ricci.zip", new Uint8Array(modules));
  python.runPython("import sys; sys.path.insert(0, '/ricci.zip')");
  const answer = python.pyimport("ricci.web.answers").answer_text;
  postMessage({ kind: "ready", runtime: loaded - started, modules: performance.now() - loaded });
  return answer;
}

const ready = start().catch((error) => {
  postMessage({ kind: "broken", message: String(error) });
  throw error;
});

onmessage = async ({ data }) => {
  const answer = await ready;
  const before = performance.now();
  let text, ended = false;
  try {
    text = answer(JSON.stringify(data.request));
  } catch (error) { // the stack of a browser is smaller than Python's own limit, and Python does not outlive its end
    ended = true;
    const message = `This is too large to work out in this browser, and Python has started anew: ${error.message}.`;
    text = JSON.stringify({ ok: false, error: { kind: "LimitError", message } });
  }
  postMessage({ kind: "answer", number: data.number, text, ended, took: performance.now() - before });
};

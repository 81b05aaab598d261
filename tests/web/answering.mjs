// Answers requests, a line each, with the Python and the modules of a built page: node answering.mjs FOLDER
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide/pyodide.mjs`));
const python = await loadPyodide({ indexURL: `${folder}/pyodide/` });
python.FS.writeFile("/ricci.zip", readFileSync(`${folder}/ricci.zip`));
python.runPython("import sys; sys.path.insert(0, '/ricci.zip')");
const answer = python.pyimport("ricci.web.answers").answer_text;
for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) console.log(answer(line));

// Compiles the modules of an archive with the very Python that the page has, so that no browser has to.
// node compiling.mjs PYODIDE FROM TO: the folder of Pyodide, and two archives.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [pyodide, from, to] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: `${pyodide}/` });
python.FS.writeFile("/sources.zip", readFileSync(from));
python.runPython(`
import importlib._bootstrap_external as own
import zipfile

def bare(code):
    """Without the lines of its source, of which no message here speaks."""
    inner = tuple(bare(one) if hasattr(one, "co_code") else one for one in code.co_consts)
    return code.replace(co_linetable=b"", co_consts=inner, co_filename=name)

with zipfile.ZipFile("/sources.zip") as sources, zipfile.ZipFile("/modules.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
    for entry in sources.infolist():
        code = compile(sources.read(entry), f"/ricci.zip/{entry.filename}", "exec", dont_inherit=True, optimize=2)
        name = entry.filename
        data = bytes(own._code_to_hash_pyc(bare(code), b"\\0" * 8, False))
        made.writestr(zipfile.ZipInfo(f"{entry.filename}c", entry.date_time), data, zipfile.ZIP_DEFLATED, 9)
`);
writeFileSync(to, python.FS.readFile("/modules.zip"));

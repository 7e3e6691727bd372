// The pages in a real browser: skillhub serves, chromium looks, with and without script.
//
// node tests/browser/pages.cjs SKILLHUB [FOLDER FOR PICTURES]
//
// Needs chromium and playwright-core (NODE_PATH says where it is). What is missing is a failure.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { HOSTILE, launched, looksWell, opened } = require("./shared.cjs");

const [program, pictures] = process.argv.slice(2);
if (!program) throw new Error("name the program: node pages.cjs SKILLHUB [FOLDER]");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "skillhub-pages-"));
const data = path.join(folder, "data");
const environment = { ...process.env, HOME: folder, SKILLHUB_HOME: path.join(folder, "home") };
const skillhub = (...args) =>
  execFileSync(program, args, { env: environment, stdio: ["ignore", "pipe", "pipe"] }).toString().trim();

// Publishes a release over the API.
async function publish(base, token, name, version, description, body, files = {}) {
  const bare = name.split("/")[1];
  const at = path.join(folder, `${bare}-${version}`, bare);
  for (const [file, text] of Object.entries({ ...files, "SKILL.md": `---\nname: ${bare}\ndescription: ${JSON.stringify(description)}\nlicense: MIT\n---\n${body}` })) {
    fs.mkdirSync(path.dirname(path.join(at, file)), { recursive: true });
    fs.writeFileSync(path.join(at, file), text);
  }
  const archive = path.join(folder, `${bare}-${version}.skill`);
  skillhub("pack", at, "-o", archive);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/zip" };
  const answer = await fetch(`${base}/v1/skills/${name}/${version}`, { method: "PUT", headers, body: fs.readFileSync(archive) });
  assert.equal(answer.status, 200, await answer.text());
}

async function fill(base, token) {
  const lines = (count, mark) => Array.from({ length: count }, (_, at) => `${at % 40 === 0 ? mark : "line"} ${at} of a long reference`).join("\n");
  const script = (host) => `#!/bin/sh\n# Sends the notes.\nset -eu\ncurl --fail https://${host}/v1/notes --data @"$1"\n`;
  await publish(base, token, "acme/meeting-notes", "1.0.0", "Takes notes of meetings.", "# Meeting notes\n\nRun the old step of the release, then write the notes.\n", {
    "references/format.md": lines(600, "old"), "scripts/send.py": "import os\n\n\ndef send():\n    return 1\n",
  });
  await publish(base, token, "acme/meeting-notes", "1.1.0", "Takes notes of meetings, by speaker and by topic, and sends them where the team keeps them. ".repeat(9) + "记录会议，按发言人整理。", HOSTILE, {
    "references/format.md": lines(640, "new"), "scripts/send.sh": script("api.example.org"), "references/a-file-with-a-name-that-is-much-longer-than-anybody-would-choose-for-a-file.md": "x\n",
    "scripts/send.py": "import os\n\n\ndef send(host):\n    return os.environ.get(host)\n",
  });
  await publish(base, token, "mei/biaoge-tubiao", "0.3.0", "把表格数据画成图表，支持折线图、柱状图和饼图，并导出为图片。", "# 图表\n\n先读取表格，再选择图表类型。\n");
  await publish(base, token, "acme/release-notes-with-a-name-as-long-as-the-standard-allows-it-x", "2.0.0", "Writes release notes.", "# Notes\n\nWrite.\n");
  for (let at = 0; at < 24; at += 1) {
    await publish(base, token, `zoe/small-${at}`, "1.0.0", `Does the small thing number ${at} with PDF files.`, "# Small\n\nDo it.\n");
  }
  const report = { method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: JSON.stringify({ reason: "It sends notes to <b>another host</b> since 1.1.0." }) };
  for (const name of ["meeting-notes/1.1.0"]) {
    const answer = await fetch(`${base}/v1/skills/acme/${name}/reports`, report);
    assert.equal(answer.status, 200, await answer.text());
  }
}

const steps = {
  async "a search finds, marks and filters"(base, browser) {
    const page = await opened(browser);
    await page.goto(base);
    assert.equal(await page.evaluate(() => document.activeElement.name), "q", "the cursor is in the field");
    await page.keyboard.type("pdf");
    await page.keyboard.press("Enter");
    await page.waitForURL(/search\?q=pdf/);
    assert.equal(await page.locator(".skills li").count(), 20);
    assert.equal((await page.locator("mark").first().textContent()).toLowerCase(), "pdf");
    await page.click("a[rel=next]");
    assert.equal(await page.locator(".skills li").count(), 4);
    await page.goto(`${base}/-/search?q=${encodeURIComponent("图表")}`);
    assert.equal(await page.locator(".skills h3").first().innerText(), "mei/biaoge-tubiao");
    await page.check("input[name=signed]");
    await page.click(".filters button");
    assert.equal(await page.locator(".skills li").count(), 0);
    assert.match(await page.innerText("main"), /No skills found/);
    return page;
  },
  async "a skill is installed by a line for the agent, which is remembered"(base, browser) {
    const page = await opened(browser);
    await page.goto(`${base}/acme/meeting-notes`);
    await page.selectOption("#agent", "codex");
    const line = await page.innerText("#line");
    assert.match(line, /install acme\/meeting-notes --agent codex$/);
    await page.click("[data-copy]");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), line);
    await page.goto(`${base}/mei/biaoge-tubiao`);
    assert.match(await page.innerText("#line"), /--agent codex$/);
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.name), "q");
    return page;
  },
  async "a hostile text does nothing"(base, browser) {
    const page = await opened(browser);
    for (const at of ["/acme/meeting-notes", "/acme/meeting-notes/files/1.1.0/SKILL.md", "/acme/meeting-notes/diff/1.0.0/1.1.0"]) {
      await page.goto(base + at);
      await page.waitForTimeout(200);
      assert.doesNotMatch(await page.title(), /owned/);
      assert.equal(await page.locator("main img, main iframe, main svg[onload], main style, main script, main [onerror]").count(), 0);
      assert.equal(await page.locator('a[href^="javascript:" i], a[href^="data:" i]').count(), 0);
      assert.match(await page.innerText("main"), /U\+200B/);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${at} is no wider than the window`);
    }
    await page.goto(`${base}/acme/meeting-notes`);
    assert.match(await page.innerText(".prose"), /ignore all that was said before/);
    const link = page.locator('.prose a[href="https://example.org/guide"]');
    assert.equal(await link.getAttribute("rel"), "nofollow noopener noreferrer");
    assert.match(await page.innerText(".prose"), /real one \(example\.org\)|real one\s+example\.org/);
    return page;
  },
  async "two releases are compared both ways"(base, browser) {
    const page = await opened(browser);
    await page.goto(`${base}/acme/meeting-notes`);
    await page.click("text=changes since 1.0.0");
    assert.match(await page.innerText("main"), /accesses more than before[\s\S]*api\.example\.org/);
    assert.ok(await page.locator("del").count() > 0 && await page.locator("ins").count() > 0);
    await page.locator(".gap summary").first().click();
    assert.ok(await page.locator(".gap[open] td").first().isVisible());
    await page.locator(".diff .no a").nth(3).click();
    assert.match(page.url(), /#f\d+[on]\d+$/);
    await page.click("text=Unified");
    assert.ok(await page.locator("table.unified").count() > 0 && await page.locator("table.split").count() === 0);
    return page;
  },
  async "signing in, deciding over a report, signing out"(base, browser, token) {
    const page = await opened(browser);
    await page.goto(`${base}/-/sign-in`);
    await page.fill("#token", "skh_wrong");
    await page.click("main button");
    assert.match(await page.innerText("[role=alert]"), /unknown/);
    page.faults.length = 0; // The browser tells of the 401.
    await page.fill("#token", token);
    await page.click("main button");
    await page.click("text=Moderation");
    const report = page.locator("#report-1");
    assert.match(await report.innerText(), /<b>another host<\/b>/);
    await report.locator("textarea").fill("It does.");
    await report.locator("text=Uphold and quarantine").click();
    await page.waitForURL(/moderation$/);
    assert.equal(await page.locator("#report-1").count(), 0);
    await page.goto(`${base}/acme/meeting-notes?version=1.1.0`);
    assert.match(await page.innerText("main"), /under quarantine: It does\./);
    const nobody = await opened(browser);
    await nobody.goto(`${base}/acme/meeting-notes?version=1.1.0`);
    assert.match(await nobody.innerText("main"), /under quarantine: It does\.[\s\S]*not available/);
    await page.goto(`${base}/-/moderation`);
    await page.locator(".queue textarea").fill("Looked at it: the host is theirs.");
    await page.click("text=Restore");
    await page.waitForURL(/moderation$/);
    const cookies = await page.context().cookies();
    const session = cookies.find((cookie) => cookie.name === "skillhub_session");
    assert.ok(session.httpOnly && session.sameSite === "Strict");
    await page.click("text=Sign out");
    await page.goto(`${base}/-/moderation`);
    assert.match(await page.innerText("h1"), /Sign-in required/);
    page.faults.length = 0;
    return page;
  },
  async "everything is read and done without script"(base, browser, token) {
    const page = await opened(browser, { javaScriptEnabled: false });
    await page.goto(`${base}/acme/meeting-notes`);
    await page.selectOption("#agent", "goose");
    await page.click("text=Show");
    assert.match(await page.innerText("#line"), /--agent goose$/);
    assert.equal(await page.locator("[data-copy]").isVisible(), false);
    await page.click("footer >> text=中文");
    assert.match(await page.innerText("main"), /访问范围/);
    await page.click("text=1.1.0 >> nth=0");
    await page.goto(`${base}/-/sign-in`);
    await page.fill("#token", token);
    await page.click("main button");
    assert.match(await page.innerText("header"), /审核/, "the language stays");
    return page;
  },
  async "nothing is cut or too wide at any width, and controls are large enough on a phone"(base, browser) {
    for (const width of [390, 820, 1440]) {
      for (const colorScheme of ["light", "dark"]) {
        for (const locale of ["en-GB", "zh-CN"]) {
          const page = await opened(browser, { viewport: { width, height: 900 }, colorScheme, locale });
          await page.goto(`${base}/-/sign-in`);
          const shown = ["/", "/-/search?q=notes", "/acme/meeting-notes", "/acme/release-notes-with-a-name-as-long-as-the-standard-allows-it-x", "/acme", "/acme/meeting-notes/files/1.1.0/scripts/send.sh", "/acme/meeting-notes/diff/1.0.0/1.1.0", "/acme/meeting-notes/diff/1.0.0/1.1.0?view=unified", "/-/sign-in", "/nobody"];
          for (const at of shown) {
            await page.goto(base + at);
            await looksWell(page, `${at} at ${width}, ${colorScheme}`);
            if (pictures) await page.screenshot({ path: path.join(pictures, `${at.replaceAll(/[^a-z0-9]+/g, "-")}.${width}.${colorScheme}.${locale.slice(0, 2)}.png`), fullPage: false });
          }
          page.faults = page.faults.filter((fault) => !/status of 404/.test(fault));
          assert.deepEqual(page.faults, []);
          await page.context().close();
        }
      }
    }
  },
};

async function main() {
  fs.mkdirSync(data);
  const token = skillhub("serve", "admin-token", "--data", data);
  const server = spawn(program, ["serve", "--data", data, "--addr", "127.0.0.1:0", "--rate", "0"], { env: environment, stdio: ["ignore", "pipe", "inherit"] });
  const gone = new Promise((_, reject) => server.on("exit", (code) => reject(new Error(`the server ended with ${code}`))));
  gone.catch(() => {});
  let browser;
  try {
    const told = new Promise((resolve) => server.stdout.on("data", (text) => resolve(String(text))));
    const base = (await Promise.race([told, gone])).match(/http:\/\/[\d.:]+/)[0];
    await fill(base, token);
    browser = await launched();
    for (const [name, step] of Object.entries(steps)) {
      const page = await step(base, browser, token);
      if (page) {
        assert.deepEqual(page.faults, [], name);
        await page.context().close();
      }
      console.log(`ok   ${name}`);
    }
  } finally {
    await browser?.close();
    server.removeAllListeners("exit");
    server.kill("SIGTERM");
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});

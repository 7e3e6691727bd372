// The library's pages in a real browser: skillhub serves a library, chromium looks and decides, with and without script.
//
// node tests/browser/library.cjs SKILLHUB [FOLDER FOR PICTURES]
//
// Needs chromium, playwright-core (NODE_PATH says where it is) and script(1), since a reviewer's token is made at a
// terminal only. What is missing is a failure.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync, spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { HOSTILE, launched, looksWell, opened } = require("./shared.cjs");

const [named, pictures] = process.argv.slice(2);
if (!named) throw new Error("name the program: node library.cjs SKILLHUB [FOLDER]");
const program = path.resolve(named);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "skillhub-library-"));
const library = path.join(folder, "library");
const TOKEN = "the-token-of-the-browser-tests";
const environment = { ...process.env, HOME: folder, SKILLHUB_HOME: path.join(folder, "home"), SKILLHUB_LIBRARY: library, SKILLHUB_GATEWAY_TOKEN: TOKEN };

function skillhub(args, input) {
  const done = spawnSync(program, args, { env: environment, cwd: folder, input: input ?? "" });
  assert.equal(done.status, 0, `${args.join(" ")}: ${done.stdout}${done.stderr}`);
  return done.stdout.toString();
}

const head = (name, description) => `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\nlicense: MIT\n---\n`;
const manage = (...args) => (input) => skillhub(["--actor", "agent:claude", "manage", ...args], input);
const config = (text) => fs.writeFileSync(path.join(folder, "home", "config.toml"), text);
const read = (skill, file = "SKILL.md") => fs.readFileSync(path.join(library, skill, file), "utf8");

// A reviewer's token, made as a person makes one.
function reviewerToken() {
  const made = execFileSync("script", ["-qec", `'${program}' reviewer new --name ann`, "/dev/null"], { env: environment, cwd: folder });
  return made.toString().match(/skillhub-reviewer-[0-9a-f]+/)[0];
}

function fill() {
  fs.mkdirSync(library, { recursive: true });
  manage("create", "meeting-notes", "--content", "-", "--reason", "the team asked for it")(`${head("meeting-notes", "Takes notes of meetings. Use after a meeting.")}\n# Meeting notes\n\nRun the old step of the release, then write the notes.\n`);
  manage("edit", "meeting-notes", "--content", "-", "--reason", "<b>bold</b> <script>document.title='owned'</script> reason")(`${head("meeting-notes", "Takes notes of meetings, by speaker and by topic, and keeps them where the team looks. 记录会议，按发言人整理。")}\n${HOSTILE.replace("Hidden\u200B here", "Hidden here")}`);
  const lines = (mark) => Array.from({ length: 300 }, (_, at) => `${at % 40 === 0 ? mark : "line"} ${at} of a long reference`).join("\n");
  manage("write_file", "meeting-notes", "--path", "references/a-file-with-a-name-that-is-much-longer-than-anybody-would-choose.md", "--content", "-")(lines("old"));
  const names = ["release-notes-with-a-name-as-long-as-the-standard-allows-it-xxx", "biaoge-tubiao", "tables", "pdf-forms"];
  for (const name of names) {
    manage("create", name, "--content", "-")(`${head(name, name === "biaoge-tubiao" ? "把表格数据画成图表，支持折线图、柱状图和饼图。" : `Does ${name}. Use in tests.`)}\n# ${name}\n\nDo it.\n`);
  }
  for (let at = 0; at < 60; at += 1) manage("create", `small-${at}`, "--content", "-")(`${head(`small-${at}`, `Does the small thing number ${at}.`)}\nDo it.\n`);
  skillhub(["disable", "tables"]);
  skillhub(["pin", "pdf-forms"]);
  fs.appendFileSync(path.join(library, "biaoge-tubiao", "SKILL.md"), "\nA line by hand.\n");
  config('policy = "strict"\n');
  const propose = (name, find, replace, reason) => manage("patch", name, "--find", find, "--replace", replace, "--reason", reason)();
  propose("meeting-notes", "Ask for the agenda.", "Ask for the agenda, and for the goal.", "three meetings had no goal");
  propose("small-1", "Do it.", "Do it twice.", "once was not enough");
  propose("small-2", "Do it.", "Do it at once.", "it was slow");
  config("");
  skillhub(["--actor", "agent:codex", "manage", "patch", "small-2", "--find", "Do it.", "--replace", "Do it slowly."]);
}

// Signs in, as a person when there is a token for it.
async function signedIn(browser, base, reviewer, options) {
  const page = await opened(browser, options);
  await page.goto(`${base}/-/sign-in`);
  await page.fill("#token", TOKEN);
  if (reviewer) await page.fill("#reviewer", reviewer);
  await page.click("main button");
  await page.waitForURL(`${base}/`);
  return page;
}

const refusedFault = (page) => { page.faults = page.faults.filter((fault) => !/status of 4\d\d/.test(fault)); };

const steps = {
  async "nobody comes in without the token, and a page that was asked for follows"(base, browser) {
    const page = await opened(browser);
    await page.goto(`${base}/skills/meeting-notes`);
    assert.equal(await page.locator("#token").count(), 1);
    assert.doesNotMatch(await page.innerText("main"), /meeting/i);
    await page.fill("#token", "another-token-of-somebody");
    await page.click("main button");
    assert.match(await page.innerText("[role=alert]"), /not the gateway/);
    await page.fill("#token", TOKEN);
    await page.click("main button");
    await page.waitForURL(`${base}/skills/meeting-notes`);
    const session = (await page.context().cookies()).find((cookie) => cookie.name === "skillhub_library");
    assert.ok(session.httpOnly && session.sameSite === "Strict" && !session.value.includes(TOKEN));
    await page.click("text=Sign out");
    await page.goto(base);
    assert.equal(await page.locator("#token").count(), 1);
    refusedFault(page);
    return page;
  },
  async "the list tells how each skill stands, finds and filters"(base, browser) {
    const page = await signedIn(browser, base);
    const text = async (name) => (await page.locator(".standing li", { has: page.locator(`a[href="/skills/${name}"]`) }).innerText()).replaceAll(/\s+/g, " ");
    assert.equal(await page.locator(".standing li").count(), 50);
    await page.click("a[rel=next]");
    assert.ok((await page.locator(".standing li").count()) >= 15);
    await page.keyboard.press("/");
    await page.keyboard.type("meeting");
    await page.keyboard.press("Enter");
    await page.waitForURL(/q=meeting/);
    assert.match(await text("meeting-notes"), /active.*1 change waits for review.*Revision 3.*file written.*claude \(agent\)/);
    await page.goto(`${base}/?q=tables`);
    assert.match(await text("tables"), /disabled/);
    await page.goto(`${base}/?q=pdf`);
    assert.match(await text("pdf-forms"), /pinned/);
    await page.goto(`${base}/?only=modified`);
    assert.match(await text("biaoge-tubiao"), /edited here/);
    await page.goto(`${base}/?q=nothing-like-this`);
    assert.match(await page.innerText("main"), /No skills found/);
    return page;
  },
  async "a hostile text does nothing"(base, browser) {
    const page = await signedIn(browser, base);
    for (const at of ["/skills/meeting-notes", "/skills/meeting-notes/history", "/skills/meeting-notes/files/now/SKILL.md", "/skills/meeting-notes/diff?from=1&to=2", "/skills/meeting-notes/rollback?to=1", "/"]) {
      await page.goto(base + at);
      await page.waitForTimeout(150);
      assert.doesNotMatch(await page.title(), /owned/);
      assert.equal(await page.locator("main img, main iframe, main svg, main style, main script, main [onerror]").count(), 0, at);
      assert.equal(await page.locator('a[href^="javascript:" i], a[href^="data:" i], form[action*="evil"]').count(), 0, at);
    }
    await page.goto(`${base}/skills/meeting-notes`);
    assert.match(await page.innerText(".prose"), /ignore all that was said before/);
    return page;
  },
  async "the past is read, any two revisions are compared, both ways"(base, browser) {
    const page = await signedIn(browser, base);
    await page.goto(`${base}/skills/meeting-notes`);
    await page.click("nav.views >> text=History");
    assert.deepEqual(await page.locator(".timeline li").evaluateAll((all) => all.map((one) => one.id)), ["r3", "r2", "r1"]);
    assert.match(await page.innerText("#r1"), /created[\s\S]*the team asked for it/);
    assert.equal(await page.locator("#r3 .button").count(), 0, "nobody rolls back to what is");
    await page.selectOption("select[name=from]", "1");
    await page.selectOption("select[name=to]", "2");
    await page.click("form.compare button");
    assert.match(await page.innerText("h1"), /Revision 1 → 2/);
    assert.ok((await page.locator("table.split").count()) > 0 && (await page.locator(".diff .old").count()) > 0);
    await page.click("text=Unified");
    assert.ok((await page.locator("table.unified").count()) > 0 && (await page.locator("table.split").count()) === 0);
    await page.click("text=Swap sides");
    assert.match(await page.innerText("h1"), /Revision 2 → 1/);
    return page;
  },
  async "a rollback is shown, confirmed, and done on the disk"(base, browser, reviewer) {
    const page = await signedIn(browser, base, reviewer);
    await page.goto(`${base}/skills/meeting-notes/history`);
    await page.click("#r1 .button");
    assert.match(await page.innerText("main"), /restores all files of revision 1[\s\S]*Changes to be made/);
    assert.match(read("meeting-notes"), /ignore all/, "looking changes nothing");
    await page.click("text=Cancel");
    await page.click("#r1 .button");
    await page.fill("textarea[name=reason]", "the new text was hostile");
    await page.click("button.main");
    await page.waitForURL(/done=rolled-back/);
    assert.match(await page.innerText("[role=status]"), /new revision/);
    assert.match(await page.innerText("#r4"), /rolled back[\s\S]*ann \(person\)[\s\S]*the new text was hostile/);
    assert.match(read("meeting-notes"), /Run the old step/);
    assert.doesNotMatch(read("meeting-notes"), /ignore all/);
    assert.deepEqual(fs.readdirSync(path.join(library, "meeting-notes")), ["SKILL.md"], "files that came later are gone");
    const told = JSON.parse(skillhub(["history", "meeting-notes", "--json"])).revisions[0];
    assert.deepEqual([told.action, told.actor, told.reason], ["rollback", { kind: "person", id: "ann" }, "the new text was hostile"]);
    await page.goto(`${base}/skills/meeting-notes/history`);
    await page.click("#r3 .button");
    await page.click("button.main");
    await page.waitForURL(/done=rolled-back/);
    assert.match(read("meeting-notes"), /ignore all/, "and back again");
    return page;
  },
  async "what was looked at is rolled back over, and nothing newer"(base, browser, reviewer) {
    const page = await signedIn(browser, base, reviewer);
    manage("patch", "small-3", "--find", "Do it.", "--replace", "Do it first.")();
    await page.goto(`${base}/skills/small-3/rollback?to=1`);
    manage("patch", "small-3", "--find", "first", "--replace", "second")();
    await page.click("button.main");
    assert.match(await page.innerText("h1"), /Changed in the meantime/);
    assert.match(read("small-3"), /Do it second/);
    refusedFault(page);
    return page;
  },
  async "a person accepts and rejects, and the next one follows"(base, browser, reviewer) {
    const page = await signedIn(browser, base, reviewer);
    await page.click("header >> text=Review");
    assert.equal(await page.locator(".queue:not(.changed) li").count(), 3);
    await page.click('.queue:not(.changed) a:has-text("small-1")');
    assert.match(await page.innerText("main"), /once was not enough[\s\S]*Accept/);
    assert.ok((await page.locator("ins").count()) > 0);
    await page.keyboard.press("a");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Accept");
    assert.match(read("small-1"), /Do it\.\n/, "a key decides nothing");
    await page.keyboard.press("Enter");
    await page.waitForURL(/review\/\w+\?done=accepted/);
    assert.match(read("small-1"), /Do it twice\./);
    const told = JSON.parse(skillhub(["history", "small-1", "--json"])).revisions[0];
    assert.deepEqual([told.actor.id, told.reviewer], ["claude", "person:ann"]);

    assert.match(await page.innerText("h1"), /meeting-notes/, "what has waited for longest");
    await page.fill("textarea[name=reason]", "a goal is asked for elsewhere");
    await page.click("text=Reject");
    await page.waitForURL(/done=rejected/);
    assert.doesNotMatch(read("meeting-notes"), /and for the goal/);
    assert.match(await page.innerText("h1"), /small-2/);
    assert.match(await page.innerText("main"), /has changed since[\s\S]*cannot be accepted as is/);
    await page.click("button.main");
    assert.match(await page.innerText("h1"), /Changed in the meantime/);
    assert.match(read("small-2"), /Do it slowly/, "what conflicts changes nothing");
    refusedFault(page);
    await page.goto(`${base}/review`);
    assert.match(await page.innerText(".queue"), /no longer applies/);
    await page.click(".queue a");
    await page.click("text=Reject");
    await page.waitForURL(/review\?done=rejected/);
    assert.equal(await page.locator(".queue:not(.changed) li").count(), 0);
    assert.match(await page.innerText("main"), /Changed since you looked/);
    await page.goto(`${base}/review?only=all`);
    assert.match(await page.innerText(".queue"), /rejected[\s\S]*accepted/);
    return page;
  },
  async "a changed skill is one difference, which a person keeps"(base, browser, reviewer) {
    const page = await signedIn(browser, base, reviewer);
    for (const [from, to] of [["Do it.", "Do it early."], ["early", "late"]]) manage("patch", "small-8", "--find", from, "--replace", to)();
    await page.goto(`${base}/review`);
    await page.click('#s-small-8 a');
    assert.match(await page.innerText("main"), /New: no person has kept[\s\S]*Do it late[\s\S]*Revisions · 3[\s\S]*Keep/);
    assert.doesNotMatch(await page.innerText(".diff"), /early/);
    await page.click("button.main");
    await page.waitForURL(/done=kept/);
    assert.match(await page.innerText("[role=status]"), /later reviews begin/);
    assert.equal(await page.locator("#s-small-8").count(), 0);
    manage("patch", "small-8", "--find", "late", "--replace", "on time")();
    await page.goto(`${base}/skills/small-8/changes`);
    assert.match(await page.innerText("main"), /1 revision since revision 3[\s\S]*Roll back to revision 3/);
    return page;
  },
  async "keys alone are enough, and what has the focus is seen"(base, browser, reviewer) {
    const page = await opened(browser);
    await page.goto(`${base}/skills/small-7/history`);
    // A browser gives the focus a moment after the page is there.
    await page.waitForFunction(() => document.activeElement && document.activeElement.matches("input"));
    await page.keyboard.type(TOKEN);
    await page.keyboard.press("Tab");
    await page.keyboard.type(reviewer);
    await page.keyboard.press("Enter");
    await page.waitForSelector("header >> text=Sign out");
    manage("patch", "small-7", "--find", "Do it.", "--replace", "Do it on Mondays.")();
    await page.goto(`${base}/skills/small-7/history`);
    await page.keyboard.press("Tab");
    assert.ok(await page.locator(".skip").evaluate((link) => link === document.activeElement && link.getBoundingClientRect().left >= 0));
    await page.keyboard.press("Enter");
    const tabTo = async (text) => {
      for (let at = 0; at < 60; at += 1) {
        await page.keyboard.press("Tab");
        const seen = await page.evaluate(() => [document.activeElement.textContent, getComputedStyle(document.activeElement).outlineStyle]);
        assert.notEqual(seen[1], "none", `${seen[0]} shows that it has the focus`);
        if (seen[0] === text) return;
      }
      assert.fail(`${text} is not reached`);
    };
    await tabTo("Roll back to revision 1");
    await page.keyboard.press("Enter");
    await page.waitForURL(/rollback/);
    await tabTo("Roll back to revision 1");
    await page.keyboard.press("Enter");
    await page.waitForURL(/done=rolled-back/);
    assert.match(read("small-7"), /Do it\.\n/);
    refusedFault(page);
    return page;
  },
  async "without a person's proof nothing is decided, and what is pinned stays"(base, browser) {
    const page = await signedIn(browser, base);
    config('policy = "strict"\n');
    manage("patch", "small-4", "--find", "Do it.", "--replace", "Do it again.", "--reason", "again")();
    config("");
    await page.goto(`${base}/review`);
    await page.click(".queue a");
    assert.equal(await page.locator("main form").count(), 0);
    assert.match(await page.innerText("main"), /Only a person can decide/);
    await page.goto(`${base}/skills/pdf-forms/rollback?to=1`);
    assert.match(await page.innerText("h1"), /Not allowed/);
    refusedFault(page);
    return page;
  },
  async "everything is read and done without script"(base, browser, reviewer) {
    const page = await signedIn(browser, base, undefined, { javaScriptEnabled: false });
    await page.goto(`${base}/skills/small-5`);
    await page.click("text=Hide it from agents");
    assert.match(await page.innerText("[role=status]"), /no longer see/);
    assert.equal(JSON.parse(skillhub(["list", "--json"])).skills.find((one) => one.name === "small-5").enabled, false);
    await page.click("footer >> text=中文");
    await page.click("text=向智能体显示");
    await page.click("header >> text=以审阅者身份登录");
    await page.fill("#reviewer", reviewer);
    await page.click("main button");
    await page.click("header >> text=审阅");
    await page.click(".queue a");
    await page.click("text=接受");
    assert.match(read("small-4"), /Do it again/);
    await page.goto(`${base}/skills/small-4/rollback?to=1`);
    await page.click("button.main");
    assert.match(read("small-4"), /Do it\.\n/);
    return page;
  },
  async "nothing is cut or too wide at any width, and controls are large enough on a phone"(base, browser, reviewer) {
    config('policy = "strict"\n');
    manage("patch", "meeting-notes", "--find", "Ask for the agenda.", "--replace", "Ask for the agenda, then for the goal.", "--reason", "three meetings had no goal")();
    manage("write_file", "small-6", "--path", "scripts/send.sh", "--content", "-", "--executable", "--reason", "sends the notes")("#!/bin/sh\nset -eu\ncurl --fail https://api.example.org/v1/notes --data @\"$1\"\n");
    config("");
    const waiting = JSON.parse(skillhub(["review", "list", "--json"])).proposals.map((one) => `/review/${one.id}`);
    assert.equal(waiting.length, 2);
    const look = await signedIn(browser, base, reviewer);
    await look.goto(base + waiting[1]);
    assert.match(await look.innerText("main"), /accesses more than before[\s\S]*api\.example\.org[\s\S]*executable/);
    await look.context().close();
    const shown = ["/", "/?q=notes", "/?only=elsewhere", "/skills/meeting-notes", "/skills/biaoge-tubiao", "/skills/release-notes-with-a-name-as-long-as-the-standard-allows-it-xxx", "/skills/meeting-notes/files/now/SKILL.md", "/skills/meeting-notes/history", "/skills/meeting-notes/diff?from=1&to=2", "/skills/meeting-notes/diff?to=3&view=unified", "/skills/meeting-notes/rollback?to=1", "/review", "/skills/meeting-notes/changes", "/review?only=all", ...waiting, "/-/sign-in", "/skills/nobody", "/nowhere"];
    for (const width of [390, 820, 1440]) {
      for (const colorScheme of ["light", "dark"]) {
        for (const locale of ["en-GB", "zh-CN"]) {
          const page = await signedIn(browser, base, width === 820 ? undefined : reviewer, { viewport: { width, height: 900 }, colorScheme, locale });
          for (const at of shown) {
            await page.goto(base + at);
            await looksWell(page, `${at} at ${width}, ${colorScheme}`);
            const name = at.replace(waiting[0], "proposal-1").replace(waiting[1], "proposal-2").replaceAll(/[^a-z0-9]+/g, "-");
            if (pictures) await page.screenshot({ path: path.join(pictures, `${name}.${width}.${colorScheme}.${locale.slice(0, 2)}.png`), fullPage: true });
          }
          refusedFault(page);
          assert.deepEqual(page.faults, []);
          await page.context().close();
        }
      }
    }
  },
};

async function main() {
  fill();
  const reviewer = reviewerToken();
  const server = spawn(program, ["serve", "--gateway", "--addr", "127.0.0.1:0"], { env: environment, cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const gone = new Promise((_, reject) => server.on("exit", (code) => reject(new Error(`the gateway ended with ${code}`))));
  gone.catch(() => {});
  let browser;
  try {
    const told = new Promise((resolve) => server.stdout.on("data", (text) => resolve(String(text))));
    const base = (await Promise.race([told, gone])).match(/http:\/\/[\d.:]+/)[0];
    browser = await launched();
    for (const [name, step] of Object.entries(steps)) {
      const page = await step(base, browser, reviewer);
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

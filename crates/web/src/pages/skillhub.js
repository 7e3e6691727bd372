// What the pages do besides being read: copy a line, remember an agent, keys. All of it can be done without.
"use strict";

for (const button of document.querySelectorAll("[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  if (!source || !navigator.clipboard) continue;
  button.hidden = false;
  const label = button.textContent;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = button.dataset.done;
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}

for (const select of document.querySelectorAll("[data-agents]")) {
  const line = document.querySelector("[data-line]");
  if (!line) continue;
  select.form.querySelector(".without-script").hidden = true;
  select.addEventListener("change", () => {
    line.textContent = line.dataset.line.replace("AGENT", select.value);
    document.cookie = `skillhub_agent=${encodeURIComponent(select.value)}; Path=/; SameSite=Lax; Max-Age=31536000`;
  });
}

for (const told of document.querySelectorAll("[data-keys]")) told.hidden = false;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const named = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key);
  if (named) {
    event.preventDefault();
    // A key leads there and decides nothing.
    named.focus();
    return;
  }
  if (event.key !== "/") return;
  const field = document.querySelector("[data-search]");
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});

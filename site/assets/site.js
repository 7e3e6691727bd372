// The button of the recording: pause, go on, and play again. Without script, the recording plays once.
// Wide blocks get the keyboard's focus, so that they can be scrolled without a mouse.
"use strict";

const words = document.documentElement.lang.startsWith("zh")
  ? { pause: "暂停", play: "继续", again: "重播" }
  : { pause: "Pause", play: "Continue", again: "Play again" };

function control(terminal) {
  const button = terminal.querySelector("button");
  const name = (word) => { button.textContent = words[word]; button.dataset.does = word; };
  const last = [...terminal.querySelectorAll(".line")].pop();
  const restart = () => {
    terminal.classList.remove("paused");
    terminal.classList.add("restarted");
    void terminal.offsetWidth;
    terminal.classList.remove("restarted");
    name("pause");
  };
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  last.addEventListener("animationend", (event) => event.target === last && name("again"));
  button.addEventListener("click", () => {
    const does = button.dataset.does;
    if (does === "again") return restart();
    terminal.classList.toggle("paused", does === "pause");
    name(does === "pause" ? "play" : "pause");
  });
  const isOver = !last.getAnimations().length;
  name(isOver ? "again" : "pause");
  button.hidden = false;
}

function makeFocusable() {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code, .md-typeset .highlight pre")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
}

document.querySelectorAll(".terminal").forEach(control);
addEventListener("load", makeFocusable);
addEventListener("resize", makeFocusable);

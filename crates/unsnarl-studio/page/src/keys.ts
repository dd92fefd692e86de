// Keyboard shortcuts: one table, which also fills the help.

import { element, make } from "./sidebar";

export interface Key {
  /** `event.key` in lower case, with `ctrl+` or `shift+` before it. */
  keys: string[];
  shown: string;
  what: string;
  /** On which page it is: both, unless said. */
  page?: "garment" | "sculpt";
  run: () => void;
}

function isHere(key: Key): boolean {
  return !key.page || (key.page === "sculpt") === (document.body.dataset.mode === "sculpt");
}

export function listen(keys: Key[]): void {
  window.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const typing = target.matches("input:not([type=range]), textarea, select") || target.closest("dialog[open]") !== null;
    if (typing || event.altKey) return;
    const ctrl = event.ctrlKey || event.metaKey ? "ctrl+" : "";
    const letter = event.key.toLowerCase();
    const shift = event.shiftKey && /^[a-z]$/.test(letter) ? "shift+" : "";
    const key = keys.find((key) => isHere(key) && key.keys.includes(ctrl + shift + letter));
    if (!key || (letter === " " && target.matches("button:focus-visible"))) return;
    event.preventDefault();
    key.run();
  });
  element("help-dialog").addEventListener("beforetoggle", () => fill(keys.filter(isHere)));
  fill(keys.filter(isHere));
}

function fill(keys: Key[]): void {
  element("keys").replaceChildren(
    ...keys.flatMap((key) => {
      const cap = make("kbd");
      const what = make("span");
      cap.textContent = key.shown;
      what.textContent = key.what;
      const cell = make("span");
      cell.append(cap);
      return [cell, what];
    }),
  );
}

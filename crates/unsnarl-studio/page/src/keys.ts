// Keyboard shortcuts: one table, which also fills the help.

import { element, make } from "./sidebar";

export interface Key {
  /** `event.key` in lower case, with `ctrl+` or `shift+` before it. */
  keys: string[];
  shown: string;
  what: string;
  run: () => void;
}

export function listen(keys: Key[]): void {
  const table = new Map(keys.flatMap((key) => key.keys.map((name) => [name, key] as const)));
  window.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const typing = target.matches("input:not([type=range]), textarea, select") || target.closest("dialog[open]") !== null;
    if (typing || event.altKey) return;
    const ctrl = event.ctrlKey || event.metaKey ? "ctrl+" : "";
    const letter = event.key.toLowerCase();
    const shift = event.shiftKey && /^[a-z]$/.test(letter) ? "shift+" : "";
    const key = table.get(ctrl + shift + letter);
    if (!key || (letter === " " && target.matches("button:focus-visible"))) return;
    event.preventDefault();
    key.run();
  });
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

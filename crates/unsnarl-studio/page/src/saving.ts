// The save dialog, and handing bytes to the browser as a download.

import type { Command } from "./messages";
import { element } from "./sidebar";

export class SaveDialog {
  private readonly dialog = element<HTMLDialogElement>("save-dialog");
  private readonly name = element<HTMLInputElement>("save-name");
  private readonly note = element("save-note");
  private readonly button = element<HTMLButtonElement>("save-here");
  private existing: "keep" | "replace" = "keep";

  constructor(send: (command: Command) => void) {
    const save = () => send({ do: "save", path: this.name.value.trim(), existing: this.existing });
    this.button.addEventListener("click", save);
    this.name.addEventListener("input", () => this.reset());
    this.name.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      save();
    });
    for (const button of this.dialog.querySelectorAll<HTMLElement>("[data-download]")) {
      button.addEventListener("click", () => send({ do: "download", format: button.dataset.download as string }));
    }
  }

  open(stem: string, verdict: string, ending = "obj"): void {
    this.reset();
    this.name.value = `${stem}.${ending}`;
    if (verdict === "tangled") this.say("Something still crosses: the file will not be clean.");
    this.dialog.showModal();
    this.name.setSelectionRange(0, stem.length);
  }

  close(): void {
    this.dialog.close();
  }

  /** The file is there already: the next press replaces it. */
  exists(path: string, text: string): void {
    if (path !== this.name.value.trim()) return;
    this.existing = "replace";
    this.button.textContent = "Replace it";
    this.say(text);
  }

  private say(text: string): void {
    this.note.hidden = false;
    this.note.textContent = text;
  }

  private reset(): void {
    this.existing = "keep";
    this.button.textContent = "Save in the folder";
    this.note.hidden = true;
  }
}

export function deliver(bytes: Uint8Array<ArrayBuffer>, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes]));
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

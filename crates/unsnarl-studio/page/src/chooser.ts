// The sheet on which a garment is chosen: a dropped file, a file of the folder, a sample.

import { LARGEST_UPLOAD } from "./connection";
import type { Welcome } from "./messages";
import { element, make } from "./sidebar";

export type Choice =
  | { kind: "path"; path: string }
  | { kind: "volume"; path: string }
  | { kind: "sample"; name: string }
  | { kind: "upload"; name: string; bytes: ArrayBuffer };

export class Chooser {
  constructor(
    private readonly choose: (choice: Choice) => void,
    private readonly complain: (text: string) => void,
    private readonly refresh: () => void,
  ) {
    const input = element<HTMLInputElement>("file");
    input.addEventListener("change", () => {
      if (input.files?.[0]) void this.take(input.files[0]);
      input.value = "";
    });
    element("chooser").addEventListener("click", (event) => {
      const target = event.target as HTMLElement;
      if (target.id === "chooser" || target.classList.contains("close")) this.hide();
    });
    let depth = 0;
    window.addEventListener("dragenter", (event) => {
      event.preventDefault();
      depth++;
      document.body.classList.add("dropping");
    });
    window.addEventListener("dragleave", () => {
      if (--depth <= 0) document.body.classList.remove("dropping");
    });
    window.addEventListener("dragover", (event) => event.preventDefault());
    window.addEventListener("drop", (event) => {
      event.preventDefault();
      depth = 0;
      document.body.classList.remove("dropping");
      const file = event.dataTransfer?.files[0];
      if (file) void this.take(file);
    });
  }

  /** Shows the sheet; the list of files is asked for anew. */
  show(): void {
    if (!this.isShown) this.refresh();
    document.body.dataset.chooser = "shown";
  }

  hide(): void {
    if (document.body.dataset.mode !== "empty") delete document.body.dataset.chooser;
  }

  get isShown(): boolean {
    return document.body.dataset.chooser === "shown";
  }

  private async take(file: File): Promise<void> {
    if (file.size > LARGEST_UPLOAD) {
      this.complain(`${file.name}: ${Math.round(file.size / 1048576)} MB; the page takes files of up to 64 MB. Start the studio on its folder to open larger ones.`);
      return;
    }
    this.choose({ kind: "upload", name: file.name, bytes: await file.arrayBuffer() });
  }

  fill(welcome: Welcome): void {
    const files = welcome.files.map((file) => {
      const entry = this.entry(file.path, file.kind === "cache" ? "simulation" : size(file.bytes), { kind: "path", path: file.path });
      if (file.kind === "mesh") entry.append(this.sculptButton(file.path));
      return entry;
    });
    const none = make("li", "none");
    none.textContent = "No mesh files here";
    element("files").replaceChildren(...(files.length > 0 ? files : [none]));
    const samples: HTMLElement[] = [];
    let family = "";
    for (const sample of welcome.samples) {
      if (sample.family !== family) {
        family = sample.family;
        const heading = make("li", "heading");
        heading.textContent = family;
        samples.push(heading);
      }
      samples.push(this.entry(sample.name, "", { kind: "sample", name: sample.name }, sample.about));
    }
    element("samples").replaceChildren(...samples);
  }

  /** Opens a mesh as a volume. */
  private sculptButton(path: string): HTMLElement {
    const button = make("button", "beside") as HTMLButtonElement;
    button.textContent = "Sculpt";
    button.title = `Sculpt ${path}: a closed mesh becomes a level set`;
    button.addEventListener("click", () => this.choose({ kind: "volume", path }));
    return button;
  }

  private entry(label: string, remark: string, choice: Choice, title = label): HTMLElement {
    const item = make("li");
    const button = make("button") as HTMLButtonElement;
    const small = make("small");
    small.textContent = remark;
    button.title = title;
    button.append(label, small);
    button.addEventListener("click", () => this.choose(choice));
    item.append(button);
    return item;
  }
}

function size(bytes: number): string {
  return bytes >= 1048576 ? `${(bytes / 1048576).toFixed(1)} MB` : `${Math.max(1, Math.round(bytes / 1024))} kB`;
}

// The WebSocket, with patience: when the server goes away, it is called again until it answers.

import { type Command, type FromServer, decode, encodeUpload } from "./messages";

export const LARGEST_UPLOAD = 64 * 1024 * 1024;

export interface Listener {
  message(message: FromServer): void;
  /** The connection opened; `again` when it had been lost. */
  open(again: boolean): void;
  lost(): void;
}

export class Connection {
  private socket: WebSocket | null = null;
  private opened = false;
  private wait = 250;

  constructor(private readonly listener: Listener) {
    this.connect();
  }

  private connect(): void {
    const url = new URL("ws", window.location.href);
    url.protocol = "ws:";
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.socket = socket;
      this.wait = 250;
      this.listener.open(this.opened);
      this.opened = true;
    };
    socket.onmessage = (event) => {
      if (event.data instanceof ArrayBuffer) this.listener.message(decode(event.data));
    };
    socket.onclose = () => {
      this.socket = null;
      this.listener.lost();
      window.setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(2 * this.wait, 3000);
    };
  }

  get isOpen(): boolean {
    return this.socket !== null;
  }

  send(command: Command): void {
    this.socket?.send(JSON.stringify(command));
  }

  upload(name: string, bytes: ArrayBuffer): void {
    this.socket?.send(encodeUpload(name, bytes));
  }
}

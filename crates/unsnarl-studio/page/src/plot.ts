// A small plot of red vertices and contour length over steps.

export class Plot {
  private steps: number[] = [];
  private red: number[] = [];
  private length: number[] = [];

  constructor(private readonly canvas: HTMLCanvasElement) {
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  clear(): void {
    this.steps = [];
    this.red = [];
    this.length = [];
    this.draw();
  }

  add(step: number, red: number, length: number): void {
    while (this.steps.length > 0 && this.steps[this.steps.length - 1] >= step) {
      this.steps.pop();
      this.red.pop();
      this.length.pop();
    }
    this.steps.push(step);
    this.red.push(red);
    this.length.push(length);
    if (this.steps.length > 4000) for (const list of [this.steps, this.red, this.length]) list.splice(0, 1000);
  }

  draw(): void {
    const ratio = Math.min(window.devicePixelRatio, 2);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0) return;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const context = this.canvas.getContext("2d");
    if (!context) return;
    const style = getComputedStyle(document.documentElement);
    context.scale(ratio, ratio);
    context.strokeStyle = style.getPropertyValue("--line");
    context.lineWidth = 1;
    for (const share of [0.02, 0.5, 0.98]) {
      context.beginPath();
      context.moveTo(0, Math.round(share * height) + 0.5);
      context.lineTo(width, Math.round(share * height) + 0.5);
      context.stroke();
    }
    this.curve(context, this.length, style.getPropertyValue("--accent"), [4, 3], width, height);
    this.curve(context, this.red, style.getPropertyValue("--red"), [], width, height);
  }

  private curve(context: CanvasRenderingContext2D, values: number[], colour: string, dash: number[], width: number, height: number): void {
    if (values.length < 2) return;
    const first = this.steps[0];
    const span = Math.max(this.steps[this.steps.length - 1] - first, 1);
    const top = Math.max(...values, 1e-9);
    context.strokeStyle = colour;
    context.lineWidth = 1.8;
    context.setLineDash(dash);
    context.beginPath();
    values.forEach((value, at) => context.lineTo(((this.steps[at] - first) / span) * width, height * (0.98 - 0.94 * (value / top))));
    context.stroke();
    context.setLineDash([]);
  }
}

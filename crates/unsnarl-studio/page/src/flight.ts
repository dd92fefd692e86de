// The flight of a view from where it looks to where it should: eased, and over in a third of a second.

const MILLISECONDS = 350;

export class Flight {
  private readonly start = performance.now();

  constructor(private readonly place: (share: number) => void) {}

  /** Puts the view where it is now; says whether the flight goes on. */
  advance(): boolean {
    const share = Math.min((performance.now() - this.start) / MILLISECONDS, 1);
    this.place(share * share * (3 - 2 * share));
    return share < 1;
  }
}

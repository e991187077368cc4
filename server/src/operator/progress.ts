/** Where a long operation shows how far it is. `isShown` is false where nobody would see it, so that nothing is counted for it. */
export interface Progress {
  readonly isShown: boolean;
  /** Begins a part of the operation. `total` is null if it is not known before the end. */
  begin(part: { title: string; unit: string; total: number | null }): void;
  /** How much of the part is done. */
  reach(done: number): void;
}

export const NOT_SHOWN: Progress = { isShown: false, begin: () => {}, reach: () => {} };

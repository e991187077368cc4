/** Code to copy. */
export interface Example {
  readonly title: string;
  readonly code: string;
  /** What to run first, if it needs something that is not there by itself. */
  readonly install?: string;
}

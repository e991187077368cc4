/** One version of an entry: a single value, or several keys with theirs. */
export interface SourceVersion {
  /** What the source calls it, such as `version 3`. */
  label: string;
  data: { value: string } | { keys: object };
}

/** A secret as the source has it. */
export interface SourceEntry {
  /** Where it is there, for people. */
  origin: string;
  /** The names of its folders and its own. */
  names: string[];
  /** Oldest first. The last one is the current one. */
  versions: SourceVersion[];
  metadata: Record<string, string>;
  tags: string[];
}

/** Something of the source that does not become a secret, and why. */
export interface Skipped {
  from: string;
  reason: string;
}

/** Everything that was read from a source. */
export interface Reading {
  entries: SourceEntry[];
  skipped: Skipped[];
}

import type { Kind } from './setting-kind.ts';

/** Variables whose names begin so are settings of the service; an unknown one is a spelling mistake. */
export const PREFIXES = ['CV_', 'ANOMALY_'] as const;

export interface Setting {
  readonly name: `${(typeof PREFIXES)[number]}${string}`;
  readonly kind: Kind<unknown>;
  /** As an operator would write it; null if there is none, or if it is derived from other settings. */
  readonly default: string | null;
  readonly fallback?: string;
  readonly doc: string;
  readonly secret: boolean;
  /** Whether a variable with `_FILE` may name a file with the value. This holds for every secret. */
  readonly fromFile?: boolean;
}

type Read<S extends Setting> =
  | Exclude<ReturnType<S['kind']['parse']>, undefined>
  | (S['default'] extends string ? never : null);

/** What is read of these settings, by their names. */
export type ValuesOf<List extends readonly Setting[]> = { [S in List[number] as S['name']]: Read<S> };

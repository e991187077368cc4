import { type Coffer, CofferError, collected } from '../../../client/src/index.ts';
import { inParallel } from './parallel.ts';
import type { WantedSecret } from './wanted-secrets.ts';

/** What is done with one secret. */
export interface Step {
  secret: WantedSecret;
  change: 'create' | 'update' | 'unchanged' | 'leave';
  /** How many of its values are in Coffer already. */
  done: number;
  /** The newest version in Coffer; 0 if there is none. */
  version: number;
  /** Why it is left as it is. */
  reason: string;
}

const AT_ONCE = 8;

/** Compares what is wanted with what is there, so that a repeated import goes on where the one before stopped. */
export async function planOf(
  coffer: Coffer,
  vault: string,
  secrets: readonly WantedSecret[],
  isOverwriting: boolean,
): Promise<Step[]> {
  const existing = new Map<string, number>();
  for (const { path, version } of await collected(coffer.secrets.list(vault))) existing.set(path, version);
  const steps = secrets.map((secret): Step => ({ secret, change: 'create', done: 0, version: 0, reason: '' }));
  const overwriting = steps.filter(({ secret }) => existing.has(secret.path));
  await inParallel(overwriting, AT_ONCE, async (step) => {
    const found = await currentOf(coffer, vault, step.secret.path);
    Object.assign(
      step,
      'reason' in found ? { change: 'leave', reason: found.reason } : compared(step.secret, found, isOverwriting),
    );
  });
  return steps;
}

interface Current {
  value: string;
  version: number;
}

async function currentOf(coffer: Coffer, vault: string, path: string): Promise<Current | { reason: string }> {
  try {
    const { value, version } = await coffer.secrets.get(vault, path);
    return { value, version };
  } catch (error) {
    if (!(error instanceof CofferError) || error.status !== 403) throw error;
    return { reason: `it is in Coffer, and you may not read it to compare (${error.code})` };
  }
}

/** Which of the values are there already, judged by the newest one. */
export function compared(
  { values }: Pick<WantedSecret, 'values'>,
  { value, version }: Current,
  isOverwriting: boolean,
): Omit<Step, 'secret'> {
  const texts = values.map((one) => one.value);
  const total = texts.length;
  if (texts.at(-1) === value) return { change: 'unchanged', done: total, version, reason: '' };
  // An import that was stopped left as many versions as it wrote. Otherwise the source may have dropped old versions since, and the last equal one counts.
  const done = texts[version - 1] === value ? version : texts.lastIndexOf(value) + 1;
  if (done > 0) return { change: 'update', done, version, reason: '' };
  if (isOverwriting) return { change: 'update', done: total - 1, version, reason: '' };
  return {
    change: 'leave',
    done: 0,
    version,
    reason: 'its value in Coffer is another one, which the source never had: --overwrite replaces it',
  };
}

import { type Coffer, CofferError, unlessPending } from '../../../client/src/index.ts';
import { inParallel } from './parallel.ts';
import type { Step } from './plan.ts';
import type { Skipped } from './source.ts';

export interface ApplyOptions {
  coffer: Coffer;
  vault: string;
  /** The name of the source, for the history of each secret. */
  source: string;
  isPromoting: boolean;
  /** Once it returns true, no further version is written. */
  isStopped(): boolean;
  onProgress(done: number): void;
}

export interface Applied {
  /** Paths whose whole history is in Coffer now. */
  written: Set<string>;
  versions: number;
  refused: Skipped[];
  /** The error that ended the import early, or null. */
  failure: unknown;
}

const AT_ONCE = 6;
const REASON_LENGTH_MAX = 512;

export function isWritten({ change }: Step): boolean {
  return change === 'create' || change === 'update';
}

/** Writes what the plan says. A refused secret is left out and named; an error that concerns all secrets ends the import. */
export async function apply(steps: readonly Step[], options: ApplyOptions): Promise<Applied> {
  const todo = steps.filter(isWritten);
  const applied: Applied = { written: new Set(), versions: 0, refused: [], failure: null };
  let done = 0;
  const work = async (step: Step) => {
    try {
      if (await write(step, options, () => applied.versions++)) applied.written.add(step.secret.path);
    } catch (error) {
      if (!isAboutOneSecret(error)) throw error;
      applied.refused.push({
        from: step.secret.from,
        reason: `${step.secret.path} was refused: ${error.code}${fieldsOf(error)}`,
      });
    }
    options.onProgress(++done);
  };
  await inParallel(todo, AT_ONCE, work, options.isStopped).catch((error: unknown) => {
    applied.failure = error;
  });
  return applied;
}

/** Writes the versions that are missing, each only on top of the one before it. Returns whether all of them are there. */
async function write({ secret, done, version }: Step, options: ApplyOptions, onWritten: () => void): Promise<boolean> {
  const { coffer, vault, source, isPromoting, isStopped } = options;
  const { path, type, metadata, values } = secret;
  let newest = version;
  for (const { value, label } of values.slice(done)) {
    if (isStopped()) return false;
    const reason = `Imported from ${source}: ${secret.from}, ${label}`
      .replace(/\p{Cc}/gu, ' ')
      .slice(0, REASON_LENGTH_MAX)
      .toWellFormed();
    const idempotencyKey = crypto.randomUUID();
    const written =
      newest === 0
        ? await coffer.call(
            'POST /v1/vaults/{vault}/secrets',
            {
              path: { vault },
              body: {
                path,
                value,
                metadata,
                reason,
                ...(type !== null && { type }),
                ...(isPromoting && { promote: true }),
              },
            },
            { idempotencyKey },
          )
        : await coffer.call(
            'PUT /v1/vaults/{vault}/secrets/{path}',
            { path: { vault, path }, body: { value, reason, expected_version: newest } },
            { idempotencyKey },
          );
    newest = unlessPending(written).version;
    onWritten();
  }
  return true;
}

/** Errors that concern one secret alone, so that the others may still be written. */
const ABOUT_ONE: ReadonlySet<string> = new Set([
  'VALIDATION_FAILED',
  'SECRET_ALREADY_EXISTS',
  'VERSION_CONFLICT',
  'ROTATION_IN_PROGRESS',
  'INSUFFICIENT_PRIVILEGE',
  'MFA_REQUIRED',
  'VAULT_ENV_CONFLICT',
  'SECRET_NOT_FOUND',
]);

function isAboutOneSecret(error: unknown): error is CofferError {
  return error instanceof CofferError && ABOUT_ONE.has(error.code);
}

/** The fields that the service refused, each with the reason. The service names fields and rules, never values. */
function fieldsOf({ details }: CofferError): string {
  const fields = Array.isArray(details['fields']) ? (details['fields'] as { pointer?: string; reason?: string }[]) : [];
  return fields.map(({ pointer = '', reason = '' }) => `, ${pointer} ${reason}`).join('');
}

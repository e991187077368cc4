import { readFileSync, statSync } from 'node:fs';
import { StartError } from '../storage/data-folder.ts';
import type { AuditEntry } from './entry.ts';
import { FIRST_PAGE, HEADER_SEQ, JOURNAL_BYTES } from './journal-file.ts';
import { type Frame, frameAt, PAGE_BYTES } from './journal-frame.ts';
import type { JournalKeys, JournalState } from './journal-state.ts';
import { systemEntry } from './system-entry.ts';

/** What a journal that the last process left behind still has to say. */
export type LeftBehind =
  | { kind: 'nothing' }
  /** The database knows of a journal that is not there. */
  | { kind: 'missing' }
  /** In order; each was acknowledged, or was just about to be. */
  | { kind: 'waiting'; batches: { seq: number; payload: string }[] };

export const MISSING_JOURNAL = 'the audit journal is missing: entries of the moments before the last end may be lost';

/** Tells the log of the tenant that runs the installation. */
export function missingJournalEntry(tenantId: string, now: number): AuditEntry {
  const facts = { actorId: 'start', action: 'server:start', resource: 'audit-journal', status: 500 } as const;
  return { ...systemEntry({ tenantId, details: {}, now, ...facts }), decision: 'error', reason: MISSING_JOURNAL };
}

type Verifier = Pick<JournalKeys, 'isGenuine'>;

/**
 * Reads the journal as the last process left it. What was torn when it ended is the end of the file's story: it was never
 * acknowledged. Anything else that does not fit was done by somebody, and is refused.
 */
export async function readJournal(journal: Expected, state: JournalState | null, keys: Verifier): Promise<LeftBehind> {
  return leftBehind(journal, readIfThere(journal.file), state, keys);
}

/** The file, and the size that it had from the beginning. */
interface Expected {
  file: string;
  size: number;
}

export async function leftBehind(
  { file, size }: Expected,
  bytes: Buffer | null,
  state: JournalState | null,
  keys: Verifier,
): Promise<LeftBehind> {
  if (bytes === null) return { kind: state?.isOpen === true ? 'missing' : 'nothing' };
  if (state === null || !(await isOf(bytes, state, keys))) {
    // A process that ended while it made the file left one without a batch, and no word of it in the database.
    if (state?.isOpen !== true && !holdsFrames(bytes)) return { kind: 'nothing' };
    throw foreign(file);
  }
  if (!state.isOpen) return { kind: 'nothing' };
  if (bytes.length < size) {
    throw new StartError(
      `The audit journal ${file} was cut off: entries that waited in it may be lost. ${wayOut(file)}`,
    );
  }
  const frames = await genuineFrames(bytes, state, keys);
  for (const [i, { seq }] of frames.entries()) {
    if (seq === state.moved + 1 + i) continue;
    throw new StartError(
      `The audit journal ${file} lacks batch ${state.moved + 1 + i}: entries that waited in it were removed or changed. ${wayOut(file)}`,
    );
  }
  return { kind: 'waiting', batches: frames.map(({ seq, payload }) => ({ seq, payload: payload.toString('utf8') })) };
}

function foreign(file: string): StartError {
  return new StartError(
    `The audit journal ${file} does not belong to this database as it is now: one of them was replaced or changed. ${wayOut(file)}`,
  );
}

function wayOut(file: string): string {
  return (
    'Put back what belongs together; or, to go on without the entries that waited there, move the file out of the folder, keep it as ' +
    `evidence, and start again: the log will say that ${file.split(/[/\\]/).at(-1)} is missing. Nothing was changed.`
  );
}

function readIfThere(file: string): Buffer | null {
  try {
    if (statSync(file).size > JOURNAL_BYTES) throw foreign(file);
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function isOf(bytes: Buffer, state: JournalState, keys: Verifier): Promise<boolean> {
  const header = frameAt(bytes, 0);
  return header !== null && header.seq === HEADER_SEQ && header.id.equals(state.id) && (await keys.isGenuine(header));
}

function holdsFrames(bytes: Buffer): boolean {
  for (let page = FIRST_PAGE; page * PAGE_BYTES < bytes.length; page++) if (frameAt(bytes, page) !== null) return true;
  return false;
}

/** Looks at every page, since the length of a torn frame does not say where the next one begins. */
async function genuineFrames(bytes: Buffer, state: JournalState, keys: Verifier): Promise<Frame[]> {
  const frames: Frame[] = [];
  for (let page = FIRST_PAGE; page * PAGE_BYTES < bytes.length; ) {
    const frame = frameAt(bytes, page);
    const isWaiting = frame !== null && frame.seq > state.moved && frame.id.equals(state.id);
    if (isWaiting && (await keys.isGenuine(frame))) {
      frames.push(frame);
      page += frame.pages;
    } else page++;
  }
  return frames.sort((a, b) => a.seq - b.seq);
}

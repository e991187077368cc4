import { readFileSync, statSync } from 'node:fs';
import { StartError } from '../../base/data-folder.ts';
import type { AuditEntry } from '../entry/entry.ts';
import { systemEntry } from '../entry/system-entry.ts';
import { FIRST_PAGE, HEADER_SEQ, JOURNAL_BYTES } from './journal-file.ts';
import { type Frame, frameAt, PAGE_BYTES } from './journal-frame.ts';
import type { JournalKeys, JournalState } from './journal-state.ts';

/** The state of the journal that the last process left behind. */
export type LeftBehind =
  | { kind: 'nothing' }
  /** The database refers to a journal that does not exist. */
  | { kind: 'missing' }
  /** The batches in order. Each was acknowledged, or was about to be. */
  | { kind: 'waiting'; batches: { seq: number; payload: string }[] };

export const MISSING_JOURNAL = 'the audit journal is missing: entries from just before the last shutdown may be lost';

/** The entry is recorded in the log of the operator's tenant. */
export function missingJournalEntry(tenantId: string, now: number): AuditEntry {
  const facts = { actorId: 'start', action: 'server:start', resource: 'audit-journal', status: 500 } as const;
  return { ...systemEntry({ tenantId, details: {}, now, ...facts }), decision: 'error', reason: MISSING_JOURNAL };
}

type Verifier = Pick<JournalKeys, 'isGenuine'>;

/**
 * Reads the journal as the last process left it. A frame torn by the end of the process is ignored, because it was never acknowledged. Anything
 * else that does not fit is a manipulation and refuses the start.
 */
export async function readJournal(journal: Expected, state: JournalState | null, keys: Verifier): Promise<LeftBehind> {
  return leftBehind(journal, readIfThere(journal.file), state, keys);
}

/** The file with its original size. */
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
    // A process that ended while it created the file left one without a batch, which the database does not know about.
    if (state?.isOpen !== true && !holdsFrames(bytes)) return { kind: 'nothing' };
    throw foreign(file);
  }
  if (!state.isOpen) return { kind: 'nothing' };
  if (bytes.length < size) {
    throw new StartError(`The audit journal ${file} was truncated: entries waiting in it may be lost. ${wayOut(file)}`);
  }
  const frames = await genuineFrames(bytes, state, keys);
  for (const [i, { seq }] of frames.entries()) {
    if (seq === state.moved + 1 + i) continue;
    throw new StartError(
      `The audit journal ${file} lacks batch ${state.moved + 1 + i}: entries waiting in it were removed or changed. ${wayOut(file)}`,
    );
  }
  return { kind: 'waiting', batches: frames.map(({ seq, payload }) => ({ seq, payload: payload.toString('utf8') })) };
}

function foreign(file: string): StartError {
  return new StartError(
    `The audit journal ${file} does not match this database: one of them was replaced or changed. ${wayOut(file)}`,
  );
}

function wayOut(file: string): string {
  return (
    'Restore the journal and the database that belong together; or, to continue without the entries waiting in the journal, move the file out of the folder, keep it as ' +
    `evidence, and start again: the audit log will record that ${file.split(/[/\\]/).at(-1)} is missing. Nothing was changed.`
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

/** Every page is checked, because the length of a torn frame does not tell where the next one begins. */
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

import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { StartError } from '../../base/data-folder.ts';
import { equalBytes, hmacSha256 } from '../../crypto/digest.ts';
import type { RootKey } from '../../crypto/root-key.ts';
import { fieldText } from '../../integrity/row-text.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Tables } from '../../storage/tables.ts';
import type { ChainHead } from './chain.ts';

export const ANCHOR_FILE = 'audit.anchor';
/** The end of the name of an unfinished file. Several processes may write at once, each to a file of its own. */
const UNFINISHED = /^(?:\.[0-9a-f]{12})?\.new$/;
/** A process that starts removes unfinished files, and may take one from a process that is writing. That one writes it again. */
const WRITE_ATTEMPTS = 5;
const KEY_INFO = 'coffer audit anchor';
const KEY_BYTES = 32;
const CUT_BACK =
  'The audit log in the database is shorter than this node has seen: somebody restored an older state of the database. Restore a backup with "coffer server restore", which records the restore in the log; or, if you restored the older state yourself, move the file audit.anchor out of the data folder and restart.';
const UNREADABLE =
  'The file audit.anchor, which stores the latest known position of the audit log, was not written by this service or was changed, and is ignored. Find out who changed it; a new one is written.';

const OTHER_ROOT =
  'The file audit.anchor, which stores the latest known position of the audit log, was written under another root key, and is ignored. This is expected after "coffer server rekey" on another machine; a new one is written.';

const REPLACED_ROOT =
  'This node knows another root key of this installation than the one that its seals have opened. If "coffer server rekey" was run on another machine, or the database was restored on purpose, move the file audit.anchor out of the data folder and start again. If not, somebody has put another database in place of yours: do not start, and restore a backup.';

interface AnchorParts {
  file: string;
  root: RootKey;
  /** Whether the root key comes from the provider. What a seal opens may be what somebody wrote into the database. */
  isRootCertain: boolean;
  log: Logger;
  metrics: Metrics;
}

interface Stored {
  heads: [tenantId: string, seq: number, hash: string][];
  /** By root key id. There are two while a rekey is running, because either key may come into use. */
  macs: Record<string, string>;
}

/**
 * The latest head of each tenant's log that this node has seen, stored outside the database: in memory, and in a file of the data folder for the
 * next start. Anyone who restores an older state of the database cannot restore this file with it. Its MAC key is derived from the root key,
 * because the keys in an older database differ.
 *
 * The workers of one command share the file. Each takes over what the others noted, and writes the file again if one of them replaced it by a
 * state without its own heads.
 */
export class Anchor {
  readonly #file: string;
  #keys: Map<string, KeyObject>;
  readonly #log: Logger;
  readonly #metrics: Metrics;
  readonly #heads = new Map<string, { seq: number; hash: string }>();
  readonly #behind = new Set<string>();
  #isSaved = true;
  /** Which file was read or written last; another process may have replaced it since. */
  #fileMark: string | null = null;

  readonly #isRootCertain: boolean;

  private constructor(parts: AnchorParts) {
    this.#isRootCertain = parts.isRootCertain;
    this.#file = parts.file;
    this.#keys = keysOf([parts.root]);
    this.#log = parts.log;
    this.#metrics = parts.metrics;
  }

  static open(parts: AnchorParts): Anchor {
    const anchor = new Anchor(parts);
    removeUnfinished(parts.file);
    anchor.#takeOver();
    // What this process just read need not be written again.
    anchor.#isSaved = true;
    return anchor;
  }

  /** Loads what another process, or an earlier one, wrote to the file. */
  #takeOver(): void {
    const mark = markOf(this.#file);
    if (mark === null || mark === this.#fileMark) return;
    this.#fileMark = mark;
    const stored = readStored(this.#file);
    if (stored !== null) this.#load(stored);
  }

  #load(stored: Stored | 'unreadable'): void {
    const file = this.#file;
    const written =
      stored === 'unreadable' ? [] : [...this.#keys].filter(([rootId]) => stored.macs[rootId] !== undefined);
    if (stored !== 'unreadable' && written.length === 0) {
      if (!this.#isRootCertain) throw new StartError(REPLACED_ROOT);
      this.#log.warn({ file, what_to_do: OTHER_ROOT }, 'the audit anchor was written under another root key');
    } else if (stored !== 'unreadable' && written.some(([rootId, key]) => isGenuine(stored, rootId, key))) {
      this.#raise(stored.heads);
      return;
    } else this.#log.error({ file, what_to_do: UNREADABLE }, 'the audit anchor is ignored');
    this.#isSaved = false;
  }

  #raise(stored: Stored['heads']): void {
    const seqs = new Map(stored.map(([tenantId, seq]) => [tenantId, seq]));
    // Another process wrote the file without having seen these.
    if ([...this.#heads].some(([tenantId, { seq }]) => seq > (seqs.get(tenantId) ?? -1))) this.#isSaved = false;
    for (const [tenantId, seq, hash] of stored) {
      if (seq > (this.#heads.get(tenantId)?.seq ?? -1)) this.#heads.set(tenantId, { seq, hash });
    }
  }

  /** Sets the root keys the file is authenticated for: both before one replaces the other, then the new one alone. */
  useRoots(...roots: readonly RootKey[]): void {
    this.#keys = keysOf(roots);
    this.#isSaved = false;
    this.save();
  }

  /** The last entry that was seen, with its hash in hexadecimal. */
  seen(tenantId: string): { seq: number; hash: string } | undefined {
    return this.#heads.get(tenantId);
  }

  tenantIds(): Iterable<string> {
    return this.#heads.keys();
  }

  /** Called with a committed head. */
  note(tenantId: string, { seq, hash }: ChainHead): void {
    const known = this.#heads.get(tenantId);
    if (known !== undefined && known.seq >= seq) return;
    this.#heads.set(tenantId, { seq, hash: Buffer.from(hash).toString('hex') });
    this.#isSaved = false;
    if (this.#behind.delete(tenantId)) this.#metrics.logsCutBack.set(this.#behind.size);
  }

  /** Whether the database shows an older head than this node has seen. Nothing may be linked to such a head. */
  isBehind({ tenant_id, seq }: Pick<Tables['audit_heads'], 'tenant_id' | 'seq'>): boolean {
    const known = this.#heads.get(tenant_id);
    if (known === undefined || seq >= known.seq) return false;
    if (!this.#behind.has(tenant_id)) {
      this.#behind.add(tenant_id);
      this.#metrics.logsCutBack.set(this.#behind.size);
      this.#log.error(
        { tenant: tenant_id, seen: known.seq, shown: seq, what_to_do: CUT_BACK },
        'the audit log was cut back to an older state',
      );
    }
    return true;
  }

  /**
   * Nobody waits for this write and it is not synced. After a power cut the file may be a little older, which never makes an intact log look
   * damaged.
   */
  save(): void {
    this.#takeOver();
    if (this.#isSaved) return;
    this.#isSaved = true;
    const heads: Stored['heads'] = [...this.#heads].map(([tenantId, { seq, hash }]) => [tenantId, seq, hash]);
    const text = textOf(heads);
    const macs = [...this.#keys].map(([rootId, key]) => [rootId, hmacSha256(key, text).toString('base64')]);
    const stored: Stored = { heads, macs: Object.fromEntries(macs) };
    try {
      this.#fileMark = replaceFile(this.#file, JSON.stringify(stored));
    } catch (error) {
      this.#isSaved = false;
      throw error;
    }
  }

  /** The write is retried a moment later. */
  warn(error: unknown): void {
    this.#log.warn(
      { err: error, file: this.#file },
      'the latest position of the audit log could not be stored; retrying',
    );
  }
}

function isGenuine({ heads, macs }: Stored, rootId: string, key: KeyObject): boolean {
  return equalBytes(Buffer.from(String(macs[rootId]), 'base64'), hmacSha256(key, textOf(heads)));
}

function removeUnfinished(file: string): void {
  const [folder, name] = [dirname(file), basename(file)];
  for (const found of readdirSync(folder)) {
    if (found.startsWith(name) && UNFINISHED.test(found.slice(name.length)))
      rmSync(join(folder, found), { force: true });
  }
}

/** Returns the mark of the new file. */
function replaceFile(file: string, text: string): string | null {
  for (let attempt = 1; ; attempt++) {
    const unfinished = `${file}.${randomBytes(6).toString('hex')}.new`;
    writeFileSync(unfinished, text, { mode: 0o600 });
    const mark = markOf(unfinished);
    try {
      renameSync(unfinished, file);
      return mark;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempt === WRITE_ATTEMPTS) throw error;
    }
  }
}

/** Identifies a state of the file: each one is a new file with its own inode and time. */
function markOf(file: string): string | null {
  const stats = statSync(file, { throwIfNoEntry: false, bigint: true });
  return stats === undefined ? null : `${stats.ino}:${stats.size}:${stats.mtimeNs}`;
}

function keysOf(roots: readonly RootKey[]): Map<string, KeyObject> {
  return new Map(
    roots.map(({ id, key }) => [
      id,
      createSecretKey(Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), KEY_INFO, KEY_BYTES))),
    ]),
  );
}

function readStored(file: string): Stored | 'unreadable' | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    const stored = JSON.parse(text) as Stored;
    return Array.isArray(stored.heads) && isRecord(stored.macs) ? stored : 'unreadable';
  } catch {
    return 'unreadable';
  }
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(heads: Stored['heads']): string {
  return `anchor;${heads
    .flat()
    .map((field) => fieldText(field))
    .join('')}`;
}

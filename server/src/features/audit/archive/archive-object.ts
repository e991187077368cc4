import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { hexOf, linkHash } from '../../../kernel/audit/chain/chain.ts';
import { resumedAfter } from '../../../kernel/audit/chain/restored-chain.ts';
import { timestamp } from '../../../kernel/base/clock.ts';
import { UnsealError } from '../../../kernel/crypto/sealing.ts';
import type { Keyring } from '../../../kernel/keys/keyring.ts';
import type { PqcKeys } from '../../pqc/index.ts';
import { signText, textProblem } from '../checkpoints/checkpoint.ts';

/** The purpose of the tenant's key that archives are sealed with. Its old versions stay, so old archives can be opened. */
export const ARCHIVE_PURPOSE = 'audit-archive';
const CONTEXT = Buffer.from('coffer-audit-archive-v1', 'ascii');
const FORMAT = 'coffer-audit-archive';
const HEADER_BYTES_MAX = 16 * 1024;
const TEXT_BYTES_MAX = 512 * 1024 * 1024;

const deflated = promisify(deflateRaw);
const inflated = promisify(inflateRaw);

/** A range of a chain, as the header of an archive object states it. */
export interface ArchivedRange {
  tenant_id: string;
  first_seq: number;
  last_seq: number;
  entries: number;
  /** The hashes before the first entry, and of the last one, in hexadecimal. */
  previous_hash: string;
  last_hash: string;
  /** The times of the earliest and the latest entry. */
  from: string;
  to: string;
}

interface Header extends ArchivedRange {
  format: typeof FORMAT;
  version: 1;
  body_sha256: string;
  signed_at: string;
  key_id: string;
  signature: string;
}

/** An entry of a range; `text` is that of a purged one (`purgedText`) if it was purged. */
export interface ArchivedEntry {
  seq: number;
  hash: string;
  text: string;
  isPurged: boolean;
}

export interface ArchiveParts {
  keyring: Keyring;
  keys: PqcKeys;
}

/** Why an object is not what it should be. */
export class ArchiveError extends Error {}

/** The form of names that `objectName` gives. */
export const OBJECT_NAME = /tenant_[0-9a-z]{26}-\d{16}-\d{16}-[0-9a-f]{12}\.audit/;

/** The name contains a hash, so that the archives of two diverging histories do not overwrite each other. */
export function objectName({ tenant_id, first_seq, last_seq, last_hash }: ArchivedRange): string {
  const [first, last] = [first_seq, last_seq].map((seq) => String(seq).padStart(16, '0'));
  return `${tenant_id}-${first}-${last}-${last_hash.slice(0, 12)}.audit`;
}

/**
 * An object has a header line, which is signed, and a body: the texts of the entries, compressed and then sealed. The hash of an entry follows from
 * the entries before it and is stored only for a purged one.
 */
export async function buildObject(
  { keyring, keys }: ArchiveParts,
  range: ArchivedRange,
  entries: readonly ArchivedEntry[],
  now: number,
): Promise<Buffer> {
  const lines: string[] = [];
  let seq = range.first_seq;
  for (const entry of entries) {
    if (entry.seq !== seq) lines.push(JSON.stringify({ seq: entry.seq }));
    lines.push(entry.isPurged ? JSON.stringify({ ...JSON.parse(entry.text), hash: entry.hash }) : entry.text);
    seq = entry.seq + 1;
  }
  const body = await keyring.seal(ARCHIVE_PURPOSE, placeOf(range), await deflated(lines.join('\n')));
  const unsigned = { ...range, body_sha256: hash('sha256', body, 'hex'), signed_at: timestamp(now) };
  const { key_id, signature } = await signText(keys, signedText(unsigned), CONTEXT);
  const header: Header = { format: FORMAT, version: 1, ...unsigned, key_id, signature: signature.toString('base64') };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]);
}

/** Opens an object and recomputes its part of the chain. Throws an `ArchiveError` that says what is wrong with it. */
export async function openObject(
  { keyring, keys }: ArchiveParts,
  tenantId: string,
  object: Uint8Array,
): Promise<{ range: ArchivedRange; entries: ArchivedEntry[] }> {
  const { header, body } = splitObject(object);
  if (header.tenant_id !== tenantId) throw new ArchiveError(`it is of tenant ${header.tenant_id}`);
  const signed = {
    text: signedText(header),
    key_id: header.key_id,
    signature: Buffer.from(header.signature, 'base64'),
  };
  const problem = await textProblem(keys, 'the archive', signed, CONTEXT);
  if (problem !== null) throw new ArchiveError(problem);
  if (hash('sha256', body, 'hex') !== header.body_sha256)
    throw new ArchiveError('its content was changed or truncated');
  const text = await unsealed(keyring, header, body);
  const entries = chained(header, text.split('\n'));
  const { format: _f, version: _v, body_sha256: _b, signed_at: _s, key_id: _k, signature: _g, ...range } = header;
  return { range, entries };
}

/** The header and the body of an object, of which nothing was checked yet. */
export function splitObject(object: Uint8Array): { header: Header; body: Buffer } {
  const bytes = Buffer.from(object.buffer, object.byteOffset, object.byteLength);
  const end = bytes.subarray(0, HEADER_BYTES_MAX).indexOf(10);
  try {
    const header = JSON.parse(bytes.subarray(0, Math.max(end, 0)).toString()) as Header;
    if (header.format === FORMAT && header.version === 1) return { header, body: bytes.subarray(end + 1) };
  } catch {
    // It is reported below.
  }
  throw new ArchiveError('it is not an archive of an audit log that this release can read');
}

/** Lines of fixed meaning. It must never change, because `coffer-verify` has its own copy of this format. */
function signedText(header: ArchivedRange & { body_sha256: string; signed_at: string }): string {
  const { tenant_id, first_seq, last_seq, entries, previous_hash, last_hash, from, to, body_sha256, signed_at } =
    header;
  return [
    'coffer audit archive v1',
    tenant_id,
    first_seq,
    last_seq,
    entries,
    previous_hash,
    last_hash,
    from,
    to,
    body_sha256,
    signed_at,
  ].join('\n');
}

function placeOf({ tenant_id, first_seq, last_seq, last_hash }: ArchivedRange) {
  return { tenantId: tenant_id, table: 'audit_archives', row: `${first_seq}-${last_seq}-${last_hash}` };
}

async function unsealed(keyring: Keyring, header: Header, body: Buffer): Promise<string> {
  try {
    const packed = await keyring.unseal(ARCHIVE_PURPOSE, placeOf(header), body);
    return (await inflated(packed, { maxOutputLength: TEXT_BYTES_MAX })).toString();
  } catch (error) {
    if (error instanceof UnsealError) throw new ArchiveError('it cannot be decrypted with the keys of this tenant');
    throw error;
  }
}

function chained(header: Header, lines: readonly string[]): ArchivedEntry[] {
  const entries: ArchivedEntry[] = [];
  let seq = header.first_seq - 1;
  let last = header.previous_hash;
  for (const [i, line] of lines.entries()) {
    const mark = line.startsWith('{') ? (JSON.parse(line) as { seq?: number; purged_by?: string; hash?: string }) : {};
    if (mark.seq !== undefined) {
      if (resumedAfter(lines[i + 1] ?? '') !== seq) throw new ArchiveError(`entry ${seq + 1} is missing`);
      seq = mark.seq - 1;
      continue;
    }
    seq++;
    const isPurged = mark.purged_by !== undefined;
    const text = isPurged ? JSON.stringify({ purged_by: mark.purged_by }) : line;
    last = isPurged ? String(mark.hash) : linkHash(last, header.tenant_id, seq, line);
    entries.push({ seq, hash: last, text, isPurged });
  }
  if (seq !== header.last_seq || last !== header.last_hash || entries.length !== header.entries)
    throw new ArchiveError('its entries are not those that its header states');
  return entries;
}

export function hexDigest(object: Uint8Array): string {
  return hexOf(hash('sha256', object, 'buffer'));
}

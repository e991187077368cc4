import { hash } from 'node:crypto';
import type { CheckpointSet, Report } from './checkpoints.ts';
import { UnreadableInputError } from './log.ts';
import { quoted } from './quoted.ts';
import { signatureProblem } from './signature.ts';

/** The first line of an object of the archive (CV_AUDIT_ARCHIVE). */
export interface ArchiveHeader {
  format: 'coffer-audit-archive';
  version: number;
  tenant_id: string;
  first_seq: number;
  last_seq: number;
  entries: number;
  previous_hash: string;
  last_hash: string;
  from: string;
  to: string;
  body_sha256: string;
  signed_at: string;
  key_id: string;
  signature: string;
}

const TEXTS = [
  'tenant_id',
  'previous_hash',
  'last_hash',
  'from',
  'to',
  'body_sha256',
  'signed_at',
  'key_id',
  'signature',
] as const;
const NUMBERS = ['first_seq', 'last_seq', 'entries'] as const;

/** Reads the header of an object, and checks its signature and the digest of its sealed content. The entries themselves need the tenant's key. */
export function verifyArchive(
  object: Buffer,
  checkpoints: CheckpointSet,
  named: ReadonlySet<string>,
  report: (what: string) => void,
): ArchiveHeader {
  const end = object.indexOf(10);
  const header = headerOf(object.subarray(0, Math.max(end, 0)).toString());
  const key = checkpoints.trustedKey(header.key_id, named);
  if (key === null)
    report(
      `is signed by ${quoted(header.key_id)}, which is neither a key given with --key nor a successor of one in the files`,
    );
  else {
    const failed = signatureProblem(
      key,
      'coffer-audit-archive-v1',
      signedText(header),
      Buffer.from(header.signature, 'base64'),
    );
    if (failed !== null) report(`has an invalid signature: ${failed}`);
  }
  if (hash('sha256', object.subarray(end + 1), 'hex') !== header.body_sha256)
    report('has other content than was signed');
  for (const { id, seq, hash: signed, tenant_id } of checkpoints.inOrder()) {
    if (tenant_id === header.tenant_id && seq === header.last_seq && signed !== header.last_hash)
      report(`ends with another entry than checkpoint ${id} was signed for`);
  }
  return header;
}

/** Consecutive ranges of one tenant must continue each other. */
export function verifyOrder(headers: readonly ArchiveHeader[], report: Report): void {
  for (const own of Map.groupBy(headers, ({ tenant_id }) => tenant_id).values()) {
    const sorted = own.toSorted((a, b) => a.first_seq - b.first_seq);
    for (const [i, next] of sorted.entries()) {
      const last = sorted[i - 1];
      const where = `the archive from entry ${next.first_seq} of ${quoted(next.tenant_id)}`;
      if (last === undefined) continue;
      if (next.first_seq !== last.last_seq + 1)
        report(where, `does not follow the one before it, which ends with ${last.last_seq}`);
      else if (next.previous_hash !== last.last_hash) report(where, 'continues another history than the one before it');
    }
  }
}

/** The signed text: lines of fixed meaning. */
function signedText(header: ArchiveHeader): string {
  const { tenant_id, first_seq, last_seq, entries, previous_hash, last_hash, from, to, body_sha256, signed_at } =
    header;
  const lines = [tenant_id, first_seq, last_seq, entries, previous_hash, last_hash, from, to, body_sha256, signed_at];
  return ['coffer audit archive v1', ...lines].join('\n');
}

function headerOf(line: string): ArchiveHeader {
  let header: Partial<ArchiveHeader> | null = null;
  try {
    header = JSON.parse(line) as ArchiveHeader | null;
  } catch {
    // It is reported below.
  }
  if (header?.format !== 'coffer-audit-archive') throw new UnreadableInputError('it is not an archive of an audit log');
  if (header.version !== 1)
    throw new UnreadableInputError('it was written by a newer version: use a newer coffer-verify');
  const isOfForm =
    TEXTS.every((name) => typeof header[name] === 'string') &&
    NUMBERS.every((name) => Number.isSafeInteger(header[name]));
  if (!isOfForm) throw new UnreadableInputError('its first line is malformed');
  return header as ArchiveHeader;
}

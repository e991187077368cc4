import type { AuditRecord } from '../audit/index.ts';

/** An entry of the audit log on its way to a receiver. */
export type ExportedEntry = AuditRecord & {
  tenant_id: string;
  /** Present if parts of the entry were shortened, because the receiver takes no longer ones. */
  truncated?: true;
  /** Present on the entry that `POST …/test` sends. It is not part of the log. */
  test?: true;
};

const MARK = '…[truncated]';
/** Each step leaves less of an entry: first what is long and can be looked up in the log by its id, then the ends of all texts. */
const TEXT_CHARS_STEPS = [1000, 400, 100];

/**
 * Encodes an entry, shortened until it fits. It is never split: a receiver that cuts a record reads the rest as a new one, whose text a caller
 * could have chosen.
 */
export function fitted<E extends { bytes: number }>(
  entry: ExportedEntry,
  bytesMax: number,
  encode: (entry: ExportedEntry) => E,
): E {
  for (const shorter of shortened(entry)) {
    const encoded = encode(shorter);
    if (encoded.bytes <= bytesMax) return encoded;
  }
  throw new Error(`an audit entry does not fit into ${bytesMax} bytes`);
}

function* shortened(entry: ExportedEntry): Generator<ExportedEntry> {
  yield entry;
  const { rows: _, ...rest } = entry;
  let shorter: ExportedEntry = { ...rest, truncated: true };
  yield shorter;
  shorter = { ...shorter, details: { truncated: true } };
  yield shorter;
  for (const chars of TEXT_CHARS_STEPS) {
    shorter = withTextsOf(shorter, chars);
    yield shorter;
  }
}

function withTextsOf(entry: ExportedEntry, chars: number): ExportedEntry {
  const cut = (text: string) =>
    text.length > chars ? `${text.slice(0, chars - MARK.length).toWellFormed()}${MARK}` : text;
  return {
    ...entry,
    actor: {
      kind: cut(entry.actor.kind),
      id: cut(entry.actor.id),
      name: cut(entry.actor.name),
      key: cut(entry.actor.key),
    },
    action: cut(entry.action),
    resource: cut(entry.resource),
    vault: entry.vault === null ? null : cut(entry.vault),
    reason: entry.reason === null ? null : cut(entry.reason),
    user_agent: cut(entry.user_agent),
    request_id: cut(entry.request_id),
  };
}

import { quoted } from './quoted.ts';
import { keyIdOf, signatureProblem } from './signature.ts';

/** A checkpoint in the format of `GET /v1/audit/checkpoints`. */
export interface Checkpoint {
  id: number;
  tenant_id: string;
  seq: number;
  hash: string;
  signed_at: string;
  key_id: string;
  signature: string;
}

/** Reports a problem and where it is. */
export type Report = (where: string, what: string) => void;

/** A key's signature that another key is its successor. */
interface Endorsement {
  keyId: string;
  by: string;
  signature: Buffer;
}

/** All given checkpoints, and the public keys that came with them. */
export class CheckpointSet {
  readonly #byNumber = new Map<number, Checkpoint>();
  readonly #keys = new Map<string, Buffer>();
  readonly #endorsements: Endorsement[] = [];

  /** Parses the text of a file: a response of the service, one of its checkpoint files, several of these one per line, or an array. */
  add(text: string, report: Report): void {
    for (const value of documentsIn(text)) this.#addValue(value, report);
  }

  #addValue(value: unknown, report: Report): void {
    if (Array.isArray(value)) {
      for (const item of value) this.#addValue(item, report);
      return;
    }
    const page = pageOf(value);
    if (Array.isArray(page.keys)) for (const key of page.keys) this.#addKey(key, report);
    if (Array.isArray(page.checkpoints)) for (const one of page.checkpoints) this.#addCheckpoint(one, report);
    else if (!Array.isArray(page.keys)) this.#addCheckpoint(value, report);
  }

  #addKey(value: unknown, report: Report): void {
    const { key_id, public_key, endorsed_by, endorsement } = (value ?? {}) as Record<string, unknown>;
    if (typeof key_id !== 'string' || typeof public_key !== 'string') {
      report('a key', 'is malformed');
      return;
    }
    const bytes = Buffer.from(public_key, 'base64');
    if (keyIdOf(bytes) === key_id) this.#keys.set(key_id, bytes);
    else report(`key ${quoted(key_id)}`, 'has a public key that does not match its id');
    if (typeof endorsed_by === 'string' && typeof endorsement === 'string') {
      this.#endorsements.push({ keyId: key_id, by: endorsed_by, signature: Buffer.from(endorsement, 'base64') });
    }
  }

  #addCheckpoint(value: unknown, report: Report): void {
    if (!isCheckpoint(value)) {
      report('a checkpoint', 'is malformed');
      return;
    }
    const known = this.#byNumber.get(value.id);
    if (known !== undefined && textOf(known) !== textOf(value)) {
      report(`checkpoint ${value.id}`, 'was given twice, with different content: the service signed two histories');
    }
    if (known === undefined) this.#byNumber.set(value.id, value);
  }

  get size(): number {
    return this.#byNumber.size;
  }

  get tenantId(): string | null {
    const [first] = this.#byNumber.values();
    return first?.tenant_id ?? null;
  }

  inOrder(): Checkpoint[] {
    return [...this.#byNumber.values()].sort((a, b) => a.id - b.id);
  }

  /** Checkpoints of this tenant whose signatures verify; problems are reported. Only the named keys and their successors are trusted. */
  proven(tenantId: string, named: ReadonlySet<string>, report: Report): Checkpoint[] {
    const trusted = this.#withSuccessors(named);
    const proven: Checkpoint[] = [];
    let last: Checkpoint | null = null;
    for (const checkpoint of this.inOrder()) {
      const problem = this.#problem(checkpoint, tenantId, trusted) ?? orderProblem(last, checkpoint);
      if (problem !== null) {
        report(`checkpoint ${checkpoint.id}`, problem);
        continue;
      }
      proven.push(checkpoint);
      last = checkpoint;
    }
    return proven;
  }

  /** The public key of this id, if it is one of the named keys or their successors; null if it is not, or in none of the files. */
  trustedKey(keyId: string, named: ReadonlySet<string>): Buffer | null {
    return this.#withSuccessors(named).has(keyId) ? (this.#keys.get(keyId) ?? null) : null;
  }

  /** The named keys, and every key that one of them endorses, transitively. */
  #withSuccessors(named: ReadonlySet<string>): ReadonlySet<string> {
    const trusted = new Set(named);
    for (let size = -1; size !== trusted.size; ) {
      size = trusted.size;
      for (const { keyId, by, signature } of this.#endorsements) {
        const key = trusted.has(by) && !trusted.has(keyId) ? this.#keys.get(by) : undefined;
        if (key === undefined) continue;
        const text = `coffer audit key v1\n${keyId}`;
        if (signatureProblem(key, 'coffer-audit-key-v1', text, signature) === null) trusted.add(keyId);
      }
    }
    return trusted;
  }

  #problem(checkpoint: Checkpoint, tenantId: string, trusted: ReadonlySet<string>): string | null {
    const { key_id, tenant_id, signature } = checkpoint;
    if (tenant_id !== tenantId)
      return `belongs to tenant ${quoted(tenant_id)}, but the log belongs to tenant ${quoted(tenantId)}`;
    if (!trusted.has(key_id))
      return `is signed by ${quoted(key_id)}, which is neither a key given with --key nor a successor of one`;
    const key = this.#keys.get(key_id);
    if (key === undefined) return `is signed by ${quoted(key_id)}, which is in none of the files`;
    const failed = signatureProblem(
      key,
      'coffer-audit-checkpoint-v1',
      textOf(checkpoint),
      Buffer.from(signature, 'base64'),
    );
    return failed === null ? null : `has an invalid signature: ${failed}`;
  }
}

/** Treats a file with one checkpoint and its key as a page of one. */
function pageOf(value: unknown): { checkpoints?: unknown; keys?: unknown } {
  const { checkpoint, key, ...page } = (value ?? {}) as Record<string, unknown>;
  return checkpoint === undefined || key === undefined ? page : { checkpoints: [checkpoint], keys: [key] };
}

/** The signed text. */
function textOf({ tenant_id, id, seq, hash, signed_at }: Checkpoint): string {
  return ['coffer audit checkpoint v1', tenant_id, id, seq, hash, Date.parse(signed_at)].join('\n');
}

function orderProblem(last: Checkpoint | null, next: Checkpoint): string | null {
  if (last === null || last.seq <= next.seq) return null;
  return `covers less than checkpoint ${last.id} before it: the log was shortened in between`;
}

function isCheckpoint(value: unknown): value is Checkpoint {
  const { id, tenant_id, seq, hash, signed_at, key_id, signature } = (value ?? {}) as Record<string, unknown>;
  const texts = [tenant_id, hash, signed_at, key_id, signature].every((text) => typeof text === 'string');
  return (
    texts && Number.isSafeInteger(id) && Number.isSafeInteger(seq) && Number.isFinite(Date.parse(String(signed_at)))
  );
}

/** The JSON documents of a file: the whole file, or one per line. */
export function documentsIn(text: string): unknown[] {
  try {
    return [JSON.parse(text)];
  } catch {
    const lines = text.split('\n').filter((line) => !isBlank(line));
    return lines.map((line) => JSON.parse(line));
  }
}

/** As JSON sees it; other characters that look empty are content. */
export function isBlank(line: string): boolean {
  return /^[ \t\r]*$/.test(line);
}

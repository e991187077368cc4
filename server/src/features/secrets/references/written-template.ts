import { invalidField } from '../../../kernel/base/errors.ts';
import type { Context } from '../../../kernel/request/context.ts';
import type { Reader } from '../../../kernel/storage/database.ts';
import type { VaultRow } from '../../vaults/storage/index.ts';
import { attributesOf } from '../authorization.ts';
import { secretResource } from '../location.ts';
import { referencesOf, templatesReferringTo } from '../storage/reference-store.ts';
import type { SecretRow } from '../storage/tables.ts';
import { parseTemplate, REFERENCES_MAX, type Reference, TEMPLATE } from '../value/reference-text.ts';
import { type FoundByName, fits, isTemplate, keyOf, secretsNamed } from './parts.ts';
import type { Named } from './template-problem.ts';

/** A value that is written, and where. */
interface WrittenValue {
  vault: Pick<VaultRow, 'name'>;
  row: Pick<SecretRow, 'path' | 'type' | 'environment'>;
  value: string;
  /** Of the value in the request. */
  pointer: string;
}

/**
 * Refuses a template that could not be resolved. Only secrets that the writer may read are checked, so a refusal tells nothing about others; a
 * reference to one of those, or to none, is accepted. Reads check all of it again, because what a template refers to may change at any time.
 */
export async function refuseUnresolvable(ctx: Context, db: Reader, written: WrittenValue): Promise<void> {
  const { vault, row, value, pointer } = written;
  if (row.type !== TEMPLATE) return;
  const { references } = parseTemplate(value);
  if (references.length === 0) return;
  const self = { vault: vault.name, path: row.path };
  const refuse = (at: Reference, why: string): never => {
    throw invalidField(pointer, `refers at character ${at.start + 1} to ${keyOf(at)}, ${why}`);
  };
  for (const at of references) if (keyOf(at) === keyOf(self)) refuse(at, 'which is the template itself');
  const found = await secretsNamed(db, ctx.tenantId, references);
  const seen = references.flatMap((at) => {
    const one = readable(ctx, at, found);
    return one === null ? [] : [{ at, ...one }];
  });
  for (const one of seen) {
    const why = problemOf(one, row.environment);
    if (why !== null) refuse(one.at, why);
  }
  const inner = seen.filter((one) => isTemplate(one.row));
  const [firstInner] = inner;
  if (firstInner === undefined) return;
  await refuseDeepReferrers(ctx, db, self, (why) => refuse(firstInner.at, why));
  await refuseDeepParts(ctx, db, { self, references, inner }, refuse);
}

interface Seen {
  at: Reference;
  vault: NonNullable<FoundByName['vault']>;
  row: NonNullable<FoundByName['row']>;
}

function readable(ctx: Context, at: Named, found: ReadonlyMap<string, FoundByName>): Omit<Seen, 'at'> | null {
  const { vault, row } = found.get(keyOf(at)) ?? {};
  if (vault === undefined || row === undefined) return null;
  return ctx.access.may('secrets:read', secretResource(at.vault, at.path), attributesOf(row)) ? { vault, row } : null;
}

function problemOf({ vault, row }: Omit<Seen, 'at'>, environment: string): string | null {
  if (vault.is_zero_knowledge === 1) return 'which is in a zero-knowledge vault, where the service reads no values';
  if (row.protection === 'fortress') return 'which is a fortress secret, and those are only read by themselves';
  if (!fits(environment, row.environment))
    return `which is a ${row.environment} secret, and does not fit a ${environment} template`;
  return null;
}

/** One level of templates in templates is resolved. */
async function refuseDeepReferrers(ctx: Context, db: Reader, self: Named, refuse: (why: string) => never) {
  for (const by of await templatesReferringTo(db, ctx.tenantId, self)) {
    const mayRead = ctx.access.may('secrets:read', secretResource(by.vault, by.path), attributesOf(by));
    if (mayRead) refuse(`which is a template, and the template ${keyOf(by)} refers to this one: one level is resolved`);
  }
}

async function refuseDeepParts(
  ctx: Context,
  db: Reader,
  { self, references, inner }: { self: Named; references: readonly Reference[]; inner: readonly Seen[] },
  refuse: (at: Reference, why: string) => never,
): Promise<void> {
  const byId = new Map(inner.map((one) => [one.row.secret_id, one]));
  const nested = await referencesOf(db, ctx.tenantId, [...byId.keys()]);
  const found = await secretsNamed(db, ctx.tenantId, nested);
  for (const at of nested) {
    const by = byId.get(at.secret_id);
    if (by === undefined) continue;
    if (keyOf(at) === keyOf(self)) refuse(by.at, 'which is a template that refers back to this one');
    const one = readable(ctx, at, found);
    if (one !== null && isTemplate(one.row))
      refuse(by.at, `which is a template that refers to the template ${keyOf(at)}: one level is resolved`);
  }
  const names = new Set([...references, ...nested].map(keyOf));
  const [first] = inner;
  if (first !== undefined && names.size > REFERENCES_MAX)
    refuse(first.at, `with which it is made of more than ${REFERENCES_MAX} secrets`);
}

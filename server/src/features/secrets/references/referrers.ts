import type { Described } from '../../../kernel/authz/disclosure.ts';
import { nextIteration, someInSlices, TimeSlice } from '../../../kernel/fairness/time-slice.ts';
import type { Context } from '../../../kernel/request/context.ts';
import type { Reader, Tx } from '../../../kernel/storage/database.ts';
import { parseSecretPath } from '../../../kernel/wire/secret-path.ts';
import { attributesOf } from '../authorization.ts';
import { secretOfResource, secretResource } from '../location.ts';
import type { MarkedRow } from '../reading/located-store.ts';
import { visibleAttributes } from '../reading/secret-by-id.ts';
import { type ReferringRow, referencesOf, templatesReferringTo } from '../storage/reference-store.ts';
import { isTemplate, keyOf, secretsNamed } from './parts.ts';
import { versionOfParts } from './parts-version.ts';
import type { Named } from './template-problem.ts';

/** The text of a template names what it refers to, and who may see its metadata may know that. */
const DESCRIBING = ['secrets:read', 'secrets:read_metadata'];

function mayKnow(ctx: Context, by: ReferringRow): boolean {
  const resource = secretResource(by.vault, by.path);
  return DESCRIBING.some((action) => ctx.access.may(action, resource, attributesOf(by)));
}

/** Templates that refer to a secret, as far as the caller may know of them. */
export async function knownReferrers(ctx: Context, db: Reader, at: Named): Promise<Named[]> {
  const rows = await templatesReferringTo(db, ctx.tenantId, at);
  const known = rows.filter((row) => mayKnow(ctx, row)).map(({ vault, path }) => ({ vault, path }));
  return known.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** Every template that is made of a secret, those by a template in between too. */
export async function allReferrers(tx: Tx, tenantId: string, at: Named): Promise<ReferringRow[]> {
  const direct = await templatesReferringTo(tx, tenantId, at);
  const found = new Map(direct.map((row) => [row.secret_id, row]));
  for (const row of direct)
    for (const outer of await templatesReferringTo(tx, tenantId, row)) found.set(outer.secret_id, outer);
  return [...found.values()];
}

/** A secret that a template is made of. One that does not exist has no row. */
export interface TemplatePart extends Named {
  row: MarkedRow | undefined;
}

/** What these templates are made of now, by the id of each, without deciding who may read it. For reports and watchers, not for reads. */
export async function partsOfTemplates(
  db: Reader,
  tenantId: string,
  secretIds: readonly string[],
): Promise<Map<string, TemplatePart[]>> {
  if (secretIds.length === 0) return new Map();
  const direct = await referencesOf(db, tenantId, secretIds);
  const found = await secretsNamed(db, tenantId, direct);
  const inner = [...found.values()].flatMap(({ row }) => (row !== undefined && isTemplate(row) ? [row.secret_id] : []));
  const nested = await referencesOf(db, tenantId, inner);
  for (const [key, one] of await secretsNamed(db, tenantId, nested)) found.set(key, one);
  const within = Map.groupBy(nested, ({ secret_id }) => secret_id);
  const partOf = ({ vault, path }: Named) => ({ vault, path, row: found.get(keyOf({ vault, path }))?.row });
  const slice = new TimeSlice(nextIteration);
  const all = new Map<string, TemplatePart[]>();
  for (const [secretId, references] of Map.groupBy(direct, ({ secret_id }) => secret_id)) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    const parts = references.map(partOf);
    const deeper = parts.flatMap(({ row }) => within.get(row?.secret_id ?? '') ?? []).map(partOf);
    all.set(secretId, [...new Map([...parts, ...deeper].map((part) => [keyOf(part), part])).values()]);
  }
  return all;
}

/** For watchers: what changes whenever a part of these templates does. Templates with a part that the caller may not read are missing. */
export async function partsVersions(
  ctx: Context,
  rows: readonly { secret_id: string; type: string }[],
): Promise<Map<string, string>> {
  const templates = rows.filter(isTemplate).map(({ secret_id }) => secret_id);
  if (templates.length === 0) return NONE;
  const found = await partsOfTemplates(ctx.database.read, ctx.tenantId, templates);
  const versions = new Map<string, string>();
  const isReadable = ({ vault, path, row }: TemplatePart) =>
    ctx.access.may('secrets:read', secretResource(vault, path), row === undefined ? {} : attributesOf(row));
  for (const [secretId, parts] of found) {
    if (await someInSlices(ctx.tenantId, parts, (part) => !isReadable(part))) continue;
    const numbered = parts.map(({ vault, path, row }) => {
      return { vault, path, secret_id: row?.secret_id ?? null, version: row?.version ?? null };
    });
    versions.set(secretId, versionOfParts(numbered));
  }
  return versions;
}
const NONE = new Map<string, string>();

/** What policies decide on for each part of the template at a resource, as far as the caller may know of it; empty for every other resource. */
export async function visibleParts(ctx: Context, resource: string): Promise<Described[]> {
  const at = secretOfResource(resource);
  if (at === null || !parseSecretPath(at.path).ok) return [];
  const { read } = ctx.database;
  const { row } = (await secretsNamed(read, ctx.tenantId, [at])).get(keyOf(at)) ?? {};
  if (row === undefined || !isTemplate(row) || !mayKnow(ctx, { ...row, vault: at.vault })) return [];
  const parts = (await partsOfTemplates(read, ctx.tenantId, [row.secret_id])).get(row.secret_id) ?? [];
  return Promise.all(
    parts.map(async ({ vault, path }) => {
      const part = secretResource(vault, path);
      return { resource: part, attributes: await visibleAttributes(ctx, part) };
    }),
  );
}

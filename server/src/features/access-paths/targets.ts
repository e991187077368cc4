import type { Query } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { mayKnowSecret } from '../attack-paths/index.ts';
import { type AssessedRow, assessedSecrets } from '../secrets/storage/index.ts';
import { isLive, vaultAttributes } from '../vaults/index.ts';
import { findVault, type VaultRow, vaultsAfter } from '../vaults/storage/index.ts';
import type * as contract from './contract.ts';

const VAULTS_AT_ONCE = 200;
const SECRETS_AT_ONCE = 200;

/** What ways lead to: a vault, or one of its secrets. */
export interface Target {
  readonly vault: VaultRow;
  readonly secret: AssessedRow | null;
  /** Whether the caller may know it. */
  readonly isSeen: boolean;
}

/** Where a page begins: at this vault and path, both of them included. */
export interface Start {
  readonly vault: string;
  readonly path: string;
}

type Wanted = Query<typeof contract.listAccessPaths>;

/** What was requested, by vault and path. What the caller may not see is in it too, because walking past it takes time. */
export async function* targets(ctx: Context, wanted: Wanted, start: Start): AsyncGenerator<Target> {
  const endsAtVaults = wanted.path === undefined && wanted.depth !== 'secrets';
  for await (const vault of vaults(ctx, wanted.vault, start.vault)) {
    const isSeen = maySee(ctx, vault);
    if (endsAtVaults || !isSeen) yield { vault, secret: null, isSeen };
    else {
      const first = vault.name === start.vault ? start.path : '';
      for await (const secret of secrets(ctx, vault, wanted.path, first)) {
        yield { vault, secret, isSeen: mayKnowSecret(ctx, vault, secret) };
      }
    }
  }
}

function maySee(ctx: Context, vault: VaultRow): boolean {
  return ['vaults:list', 'vaults:read'].some((action) =>
    ctx.access.may(action, `vault/${vault.name}`, vaultAttributes(vault)),
  );
}

async function* vaults(ctx: Context, name: string | undefined, start: string): AsyncGenerator<VaultRow> {
  const { read: db } = ctx.database;
  const first = name ?? start;
  const row = first === '' ? undefined : await findVault(db, ctx.tenantId, first);
  if (isLive(row)) yield row;
  if (name !== undefined) return;
  for (let after: string | null = start; after !== null; ) {
    const page: VaultRow[] = await vaultsAfter(db, ctx.tenantId, after, VAULTS_AT_ONCE);
    yield* page.filter(isLive);
    after = page.length < VAULTS_AT_ONCE ? null : (page.at(-1)?.name ?? null);
  }
}

async function* secrets(
  ctx: Context,
  { vault_id }: VaultRow,
  path: string | undefined,
  start: string,
): AsyncGenerator<AssessedRow> {
  const { read: db } = ctx.database;
  const first = path ?? start;
  const row = first === '' ? undefined : await assessedSecrets.atPath(db, ctx.tenantId, vault_id, first);
  if (row !== undefined) yield row;
  if (path !== undefined) return;
  for (let after: string | null = start; after !== null; ) {
    const page: AssessedRow[] = await assessedSecrets.inVault(db, ctx.tenantId, vault_id, {
      after,
      limit: SECRETS_AT_ONCE,
    });
    yield* page;
    after = page.length < SECRETS_AT_ONCE ? null : (page.at(-1)?.path ?? null);
  }
}

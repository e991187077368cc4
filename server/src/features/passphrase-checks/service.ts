import { timestamp } from '../../kernel/base/clock.ts';
import { CofferError, invalidField } from '../../kernel/base/errors.ts';
import { envelopeProblem } from '../../kernel/crypto/zero-knowledge-envelope.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { authorizedVault, isLive, vaultNotFound } from '../vaults/index.ts';
import { lockVault } from '../vaults/storage/index.ts';
import type * as contract from './contract.ts';
import * as store from './store.ts';

export async function readCheck(ctx: Context, vaultName: string) {
  const { read: db } = ctx.database;
  const vault = await authorizedVault(ctx, db, vaultName);
  return shown(await store.findCheck(db, ctx.tenantId, vault.vault_id));
}

export async function writeCheck(ctx: Context, vaultName: string, body: Body<typeof contract.putPassphraseCheck>) {
  const vault = await authorizedVault(ctx, ctx.database.read, vaultName);
  if (vault.is_zero_knowledge !== 1) {
    throw invalidField('/vault', 'must be a zero-knowledge vault: only its values are sealed under a passphrase');
  }
  const { check, former = null, expected_version } = body;
  refuseBadEnvelope('/body/check', check);
  if (former !== null) refuseBadEnvelope('/body/former', former);
  return ctx.change(async (tx) => {
    const locked = await lockVault(tx, ctx.tenantId, vaultName);
    if (!isLive(locked) || locked.vault_id !== vault.vault_id) throw vaultNotFound();
    const row = await store.findCheck(tx, ctx.tenantId, vault.vault_id);
    requireVersion(row?.version ?? 0, expected_version);
    requireFormer(row, check, former);
    const change = { version: expected_version + 1, current_check: check, former_check: former, updated_at: ctx.now };
    if (row !== undefined) return shown(await store.updateCheck(tx, row, change));
    const first = { tenant_id: ctx.tenantId, vault_id: vault.vault_id, ...change };
    await store.insertCheck(tx, first);
    return shown(first);
  });
}

function refuseBadEnvelope(pointer: string, text: string): void {
  const problem = envelopeProblem(text);
  if (problem !== null) throw invalidField(pointer, problem);
}

function requireVersion(version: number, expected: number): void {
  if (version === expected) return;
  const message = `The passphrase check of the vault is at version ${version}: read it again and retry.`;
  throw new CofferError('VERSION_CONFLICT', message, { details: { version } });
}

/** A new passphrase names the one before it, which some values still need until all are sealed again. */
function requireFormer(row: store.PassphraseCheckRow | undefined, check: string, former: string | null): void {
  const isUnchanged = row === undefined || row.current_check === check;
  if (isUnchanged && former !== null && former !== row?.former_check)
    throw invalidField('/body/former', 'must be left out: the check does not change');
  if (!isUnchanged && row.former_check !== null)
    throw invalidField('/body/check', 'cannot change before every value is sealed under the present passphrase');
  if (!isUnchanged && former !== row.current_check)
    throw invalidField('/body/former', 'must be the present check, because values are still sealed under it');
}

function shown(row: store.PassphraseCheckRow | undefined) {
  if (row === undefined) return { check: null, former: null, version: 0, updated_at: null };
  const { current_check: check, former_check: former, version, updated_at } = row;
  return { check, former, version, updated_at: timestamp(updated_at) };
}

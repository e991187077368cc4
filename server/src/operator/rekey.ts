import { AUTHENTICATED_TABLES } from '../assembly/authenticated-tables.ts';
import { HEAD_PURPOSE } from '../kernel/audit/chain/heads.ts';
import { systemEntry } from '../kernel/audit/entry/system-entry.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import {
  newRootKey,
  newRootSalt,
  type RootKey,
  renameDurably,
  replaceDurably,
  rootKeyProvider,
} from '../kernel/crypto/root-key.ts';
import { lockKeys, type RootChange } from '../kernel/keys/rekeying.ts';
import type { Kernel } from '../kernel/request/kernel.ts';
import { listCopies, replaceCopies } from '../kernel/seals/sealed-copies.ts';
import type { Tx } from '../kernel/storage/database.ts';
import { SYSTEM_TENANT } from '../kernel/storage/tables.ts';
import type { Config } from '../settings/config.ts';
import { type Installation, lockedOf } from '../start/installation.ts';
import { isDirect, type Locked, NEXT_KEY_SUFFIX, openRootKey, sealReferences } from '../start/open-root-key.ts';
import { refuseOtherNodes } from './other-nodes.ts';
import { NOT_SHOWN, type Progress } from './progress.ts';
import { type RekeyedRows, rekeyTenant } from './rekey-tenant.ts';
import { CHANGED, isSame } from './seals/change-seals.ts';
import { resealed } from './seals/reseal.ts';
import { withKernel } from './with-kernel.ts';

/** The new root key, and the steps that keep it safe if the process is killed: `keep` before the commit, `settle` after it. */
interface NextKey {
  root: RootKey;
  salt: Uint8Array;
  keep(): void;
  settle(): void;
  whatNext: string;
}

/**
 * Replaces the root key and every key under it that is still used: anyone with the old key and a copy of the database can neither read what is
 * written from now on nor forge a row. It is one transaction, so that at any instant one root key opens everything, and that key is in its file or
 * beside it as `….next`.
 */
export async function rekey(
  config: Config,
  options: { revokeTokens?: boolean; progress?: Progress } = {},
): Promise<string> {
  const { progress = NOT_SHOWN } = options;
  requireNewKey(config);
  await refuseOtherNodes(config);
  return withKernel(config, async ({ kernel, installation, operator }) => {
    const locked = await lockedOf(kernel.database, installation);
    const { root: present } = await openRootKey(config, locked);
    refuseToDrop(config, locked, present);
    const next = nextKey(config, installation, present);
    // Before the transaction, because seals are elsewhere in the network.
    const copies = await resealed(config, locked, { from: present, to: next.root, now: kernel.clock.now() });
    // Pending audit entries are linked under the current key.
    await kernel.audit.link();
    kernel.heads.anchor.useRoots(present, next.root);
    const change = { from: present, to: next.root, now: kernel.clock.now() };
    const tenants = await kernel.database.transaction(async (tx) => {
      await lockInstallation(tx, present);
      if (!isSame(await listCopies(tx), locked.copies)) throw new StartError(CHANGED);
      next.keep();
      kernel.database.scrubAfterCommit();
      const done: RekeyedRows[] = [];
      progress.begin({ title: 'Replacing keys', unit: 'rows', total: progress.isShown ? await countRows(tx) : null });
      let rows = 0;
      const onRows = (checked: number) => progress.reach(rows + checked);
      for (const tenantId of await lockKeys(tx)) {
        const isRevokingTokens = options.revokeTokens === true;
        const rekeyed = await rekeyTenant(tx, tenantId, { ...change, isRevokingTokens, onRows });
        rows += rekeyed.findings.checked;
        if (tenantId !== SYSTEM_TENANT) await record(kernel, tx, rekeyed, change);
        done.push(rekeyed);
      }
      await tx
        .updateTable('installation')
        .set({ root_key_id: next.root.id, root_key_salt: next.salt })
        .where('tenant_id', '=', SYSTEM_TENANT)
        .execute();
      await replaceCopies(tx, copies);
      return done;
    });
    next.settle();
    kernel.heads.anchor.useRoots(next.root);
    for (const { findings } of tenants) {
      for (const { table, row } of findings.problems) kernel.database.rowKeys.refuse(table, row);
    }
    return [
      `The root key ${present.id} was replaced by ${next.root.id}; ${tenants.length} tenant keys and all keys under them are new, and no secret value was changed.`,
      next.whatNext,
      ...revokedSentence(tenants, options.revokeTokens === true, operator.name),
      ...forgedSentence(tenants),
      'Database backups made before now can be restored only with the old key: keep it with them, and nowhere else.',
    ].join(' ');
  });
}

/** The rows that get a new MAC. */
async function countRows(tx: Tx): Promise<number> {
  let count = 0;
  for (const { name } of AUTHENTICATED_TABLES) {
    const { rows } = await tx
      .selectFrom(name)
      .select((eb) => eb.fn.countAll().as('rows'))
      .executeTakeFirstOrThrow();
    count += Number(rows);
  }
  return count;
}

async function record(kernel: Kernel, tx: Tx, done: RekeyedRows, { from, to, now }: RootChange): Promise<void> {
  const { keys, findings, encryptionKeys, tokensEnded } = done;
  const entry = systemEntry({
    tenantId: keys.tenantId,
    actorId: 'operator',
    action: 'server:rekey',
    resource: 'root-key',
    status: 200,
    details: {
      root_key: to.id,
      replaced: from.id,
      keys: keys.count,
      rows: findings.checked,
      forged_rows: findings.count,
      encryption_keys_rotated: encryptionKeys,
      tokens_ended: tokensEnded,
    },
    now,
  });
  await kernel.audit.recordIn(tx, [entry], keys.macKey(HEAD_PURPOSE));
}

function revokedSentence(tenants: readonly RekeyedRows[], isRevoking: boolean, operator: string): string[] {
  if (!isRevoking) return [];
  const count = tenants.reduce((sum, { tokensEnded }) => sum + tokensEnded, 0);
  return [
    `${count} tokens and sessions were revoked: run "coffer server new-admin-token" to create one for an owner of ${operator}.`,
  ];
}

const FORGED_NAMED_MAX = 10;

function forgedSentence(tenants: readonly RekeyedRows[]): string[] {
  const count = tenants.reduce((sum, { findings }) => sum + findings.count, 0);
  if (count === 0) return [];
  const named = tenants.flatMap(({ findings }) => findings.told.map(({ table, row }) => `${table} ${row}`));
  const some = named.slice(0, FORGED_NAMED_MAX).join(', ');
  return [
    `Forged rows, which the service did not write, stay rejected (${count}: ${some}${count > FORGED_NAMED_MAX ? ', …' : ''}): find out who could write to the database, delete the rows, and recreate what they were.`,
  ];
}

/** The lock serializes two rekeys; the second one finds that its key is no longer the current one. */
async function lockInstallation(tx: Tx, present: RootKey): Promise<void> {
  const row = await tx.selectFrom('installation').select('root_key_id').forUpdate().executeTakeFirstOrThrow();
  if (row.root_key_id !== present.id) {
    throw new StartError('Another rekey replaced the root key concurrently; this one changed nothing.');
  }
}

/** A seal that these settings do not name would lose its copy, and with it what it is for. */
function refuseToDrop(config: Config, { copies }: Locked, present: RootKey): void {
  const named = sealReferences(config);
  const dropped = copies.filter((copy) => copy.root_key_id === present.id && !named.includes(copy.reference));
  if (dropped.length === 0) return;
  throw new StartError(
    `The new root key would not be sealed under ${dropped.map(({ reference }) => JSON.stringify(reference)).join(', ')}: name it in CV_SEALS here, or remove it first with "coffer server seal remove". Nothing was changed.`,
  );
}

function requireNewKey(config: Config): void {
  const { rootKey, newRootKey: given } = config;
  if (!isDirect(config) || rootKey.provider === 'file' || given !== null) return;
  const names =
    rootKey.provider === 'env' ? 'CV_NEW_ROOT_KEY' : 'CV_NEW_ROOT_PASSPHRASE or CV_NEW_ROOT_PASSPHRASE_FILE';
  throw new StartError(`Set ${names} to the new root key, in addition to the current settings.`);
}

function nextKey(config: Config, installation: Installation, present: RootKey): NextKey {
  const { rootKey, newRootKey: given } = config;
  if (!isDirect(config)) return nextSealed(config, installation);
  if (rootKey.provider === 'file') return nextFile(rootKey.file, installation, nodesRestart(config));
  if (given === null) throw new Error('the new key must be given');
  const provider = rootKeyProvider(given);
  // A passphrase derives another key for each salt, so whether it is a new one is checked with the old salt.
  if (provider.load(installation.salt, false).id === present.id) {
    throw new StartError('The new root key is the same as the current one: give another one. Nothing was changed.');
  }
  const salt = given.provider === 'passphrase' ? newRootSalt() : installation.salt;
  const settings =
    given.provider === 'env'
      ? 'Set CV_ROOT_KEY to the value of CV_NEW_ROOT_KEY and remove CV_NEW_ROOT_KEY'
      : 'Set CV_ROOT_PASSPHRASE (or the file it is in) to the new passphrase and remove CV_NEW_ROOT_PASSPHRASE';
  return {
    root: provider.load(salt, false),
    salt,
    keep: () => {},
    settle: () => {},
    whatNext: `${settings}, then start ${nodesRestart(config)}.`,
  };
}

function nextFile(file: string, installation: Installation, nodes: string): NextKey {
  const { root, text } = newRootKey();
  const beside = `${file}${NEXT_KEY_SUFFIX}`;
  return {
    root,
    salt: installation.salt,
    // A file already there is left over from a rekey that never committed, because the installation row is locked.
    keep: () => replaceDurably(beside, text),
    settle: () => renameDurably(beside, file),
    whatNext: `The new key is in ${file}: back it up, then start ${nodes}.`,
  };
}

/** Only seals have it. */
function nextSealed(config: Config, { salt }: Installation): NextKey {
  const { root } = newRootKey();
  const whatNext = `It is sealed under every seal in CV_SEALS. Start ${nodesRestart(config)}.`;
  return { root, salt, keep: () => {}, settle: () => {}, whatNext };
}

function nodesRestart(config: Config): string {
  return config.databaseUrl === null
    ? 'the service'
    : 'every node with the new key; none may still run with the old one';
}

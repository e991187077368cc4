import { idOfDigest } from '../../kernel/base/ids.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { nextTurn } from '../../kernel/fairness/event-loop-turns.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import {
  couldRead,
  couldReadParts,
  grantOf,
  type RiskRow,
  readersInVault,
  type SameRights,
  worstOfVaults,
  worstRisks,
} from '../risk/index.ts';
import { isTemplate, partsOfTemplates, type TemplatePart } from '../secrets/references/index.ts';
import { type AssessedRow, assessedSecrets } from '../secrets/storage/index.ts';
import { isLive } from '../vaults/index.ts';
import { type VaultRow, vaultsAfter } from '../vaults/storage/index.ts';
import { type Entry, loadEntries } from './credentials.ts';
import type { Step } from './schemas.ts';
import { grantWeakness } from './weakness.ts';
import { Worst } from './worst-paths.ts';

export const PATHS_MAX = 100;
const WEAKNESS_MAX = 100;
const VAULTS_AT_ONCE = 500;
const SECRETS_AT_ONCE = 200;
/** Evaluations of rights before other work has a turn. */
const DECISIONS_PER_TURN = 100;

export interface FoundPath {
  id: string;
  score: number;
  weakness: number;
  principalId: string;
  grantId: string;
  secretId: string;
  steps: Step[];
}

/** A likely way in matters as much as what it leads to. */
export function pathScore(weakness: number, risk: number): number {
  return Math.round((weakness * risk) / 100);
}

/**
 * The worst chains from a principal to a secret: for each principal and vault the riskiest secret that they can read there. Vaults and their secrets
 * are read from the riskiest down, and what cannot be among the worst any more is not read.
 */
export async function findPaths(
  db: Reader,
  { tenantId, readers }: { tenantId: string; readers: readonly SameRights[] },
  now: number,
  signal: AbortSignal,
): Promise<readonly FoundPath[] | null> {
  const entries = await loadEntries(db, tenantId, readers, now);
  const usable = readers.filter((rights) => (entries.get(rights) ?? []).length > 0);
  const worst = new Worst<FoundPath>(PATHS_MAX);
  let decisions = 0;
  for (const { vault, risk } of await riskiestVaults(db, tenantId)) {
    if (signal.aborted) return null;
    if (!worst.accepts(pathScore(WEAKNESS_MAX, risk))) break;
    const reaching = await readersInVault(tenantId, usable, vault.name);
    let waiting = reaching.map(({ rights }) => rights);
    for await (const secret of riskiestSecrets(db, tenantId, vault.vault_id)) {
      if (waiting.length === 0 || signal.aborted) break;
      if (!worst.accepts(pathScore(WEAKNESS_MAX, secret.risk))) break;
      const reached = waiting.filter((rights) => couldReadWhole(rights, vault.name, secret));
      decisions += waiting.length;
      if (decisions >= DECISIONS_PER_TURN) {
        decisions = 0;
        await nextTurn(tenantId);
      }
      for (const rights of reached) {
        addPaths(worst, { tenantId, vault: vault.name, rights, entries: entries.get(rights) ?? [], secret, now });
      }
      if (reached.length > 0) waiting = waiting.filter((rights) => !reached.includes(rights));
    }
    await nextTurn(tenantId);
  }
  return signal.aborted ? null : worst.items;
}

interface RiskySecret {
  row: AssessedRow;
  risk: number;
  /** What a template is made of; empty for other secrets. */
  parts: readonly TemplatePart[];
}

/** A template gives something only to callers who may read all that it is made of. */
function couldReadWhole(
  rights: Pick<SameRights, 'ceilings' | 'policies'>,
  vault: string,
  { row, parts }: Pick<RiskySecret, 'row' | 'parts'>,
): boolean {
  return couldRead(rights, vault, row) && couldReadParts(rights, parts);
}

interface Reached {
  tenantId: string;
  vault: string;
  rights: SameRights;
  entries: readonly Entry[];
  secret: RiskySecret;
  now: number;
}

/** One path for each principal, by the weakest credential that reaches the secret. */
function addPaths(worst: Worst<FoundPath>, { tenantId, vault, rights, entries, secret, now }: Reached): void {
  const grant = grantOf(rights, vault, secret.row);
  if (grant === undefined) return;
  const { weakness: ofGrant, why } = grantWeakness(grant, vault, now);
  const done = new Set<string>();
  for (const entry of entries) {
    const weakness = Math.max(entry.weakness, ofGrant);
    const score = pathScore(weakness, secret.risk);
    // Entries are sorted: none of the others is weaker.
    if (!worst.accepts(score)) return;
    const { principal, credential, ceilings } = entry;
    const principalKey = `${principal.type} ${principal.id}`;
    const isReaching = ceilings.length === 0 || couldReadWhole({ ceilings, policies: rights.policies }, vault, secret);
    if (done.has(principalKey) || !isReaching) continue;
    done.add(principalKey);
    const { row, risk } = secret;
    const chain = [tenantId, principal.type, principal.id, credential.type, credential.id, grant.kind, grant.id];
    const steps: Step[] = [
      { kind: 'principal', ...principal, weakness: null, why: '' },
      { kind: 'credential', ...credential, weakness: entry.weakness, why: entry.why },
      { kind: 'grant', type: grant.kind, id: grant.id, name: grant.name || vault, weakness: ofGrant, why },
      {
        kind: 'secret',
        type: row.type,
        id: row.secret_id,
        name: `${vault}/${row.path}`,
        weakness: null,
        why: `risk ${risk}`,
      },
    ];
    worst.add({
      id: idOfDigest('apath', sha256(JSON.stringify([...chain, row.secret_id]))),
      score,
      weakness,
      principalId: principal.id,
      grantId: grant.id,
      secretId: row.secret_id,
      steps,
    });
  }
}

/** Vaults with computed risks, those with the riskiest secret first. */
async function riskiestVaults(db: Reader, tenantId: string): Promise<{ vault: VaultRow; risk: number }[]> {
  const risks = await worstOfVaults(db, tenantId);
  const found: { vault: VaultRow; risk: number }[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const page: VaultRow[] = await vaultsAfter(db, tenantId, after, VAULTS_AT_ONCE);
    for (const vault of page) {
      const risk = risks.get(vault.vault_id);
      if (risk !== undefined && isLive(vault)) found.push({ vault, risk });
    }
    after = page.length < VAULTS_AT_ONCE ? null : (page.at(-1)?.name ?? null);
  }
  return found.toSorted((a, b) => b.risk - a.risk);
}

async function* riskiestSecrets(db: Reader, tenantId: string, vaultId: string): AsyncGenerator<RiskySecret> {
  for (let after: RiskRow | null = null; ; ) {
    const risks: RiskRow[] = await worstRisks(db, tenantId, vaultId, { after, limit: SECRETS_AT_ONCE });
    const ids = risks.map(({ secret_id }) => secret_id);
    const rows = new Map((await assessedSecrets.byIds(db, tenantId, ids)).map((row) => [row.secret_id, row]));
    const parts = await partsOfTemplates(
      db,
      tenantId,
      [...rows.values()].filter(isTemplate).map(({ secret_id }) => secret_id),
    );
    for (const { secret_id, score_without_value } of risks) {
      const row = rows.get(secret_id);
      // It was deleted or moved since its risk was computed.
      if (row?.vault_id !== vaultId) continue;
      yield { row, risk: score_without_value, parts: parts.get(row.secret_id) ?? [] };
    }
    after = risks.at(-1) ?? null;
    if (after === null || risks.length < SECRETS_AT_ONCE) return;
    await nextTurn(tenantId);
  }
}

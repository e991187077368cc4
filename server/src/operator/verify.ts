import { readFileSync } from 'node:fs';
import { type ExpectedHead, type Verification, verifyTenant } from '../features/audit/verification/index.ts';
import { PqcKeys } from '../features/pqc/index.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import type { Kernel } from '../kernel/request/kernel.ts';
import type { Reader } from '../kernel/storage/database.ts';
import { SYSTEM_TENANT } from '../kernel/storage/tables.ts';
import type { Config } from '../settings/config.ts';
import { NOT_SHOWN, type Progress } from './progress.ts';
import { withKernel } from './with-kernel.ts';

/**
 * Verifies everything that can be verified of an installation: each tenant's audit log, its rows against their MACs and the log, and checkpoints that
 * were stored elsewhere.
 */
export function verifyInstallation(
  config: Config,
  checkpointFiles: readonly string[],
  progress: Progress = NOT_SHOWN,
): Promise<{ report: string; isValid: boolean }> {
  const expected = checkpointFiles.flatMap(checkpointsIn);
  return withKernel(config, async ({ kernel }) => {
    const { lines, isValid } = await verifyAll(kernel, expected, progress);
    lines.push(isValid ? 'Verification succeeded.' : 'VERIFICATION FAILED: see above.');
    return { report: lines.join('\n'), isValid };
  });
}

/** Verifies every tenant. */
export async function verifyAll(
  kernel: Kernel,
  expected: readonly CheckpointFile[],
  progress: Progress,
): Promise<{ lines: string[]; isValid: boolean; tenantIds: string[] }> {
  const parts = { kernel, keys: new PqcKeys(kernel) };
  const lines: string[] = [];
  let isValid = true;
  const tenantIds = await everyTenant(kernel.database.read, kernel.heads.anchor.tenantIds());
  for (const { tenantId, id } of expected) {
    if (tenantIds.includes(tenantId)) continue;
    isValid = false;
    lines.push(`${tenantId}: checkpoint ${id} exists for it, but the tenant does not`);
  }
  const total = progress.isShown ? await countEntries(kernel.database.read) : null;
  progress.begin({ title: 'Verifying', unit: 'entries', total });
  let done = 0;
  for (const tenantId of tenantIds) {
    const onSeq = (seq: number) => progress.reach(done + seq);
    const own = expected.filter((one) => one.tenantId === tenantId);
    const verification = await verifyTenant(parts, tenantId, { expected: own, onSeq });
    done += verification.entries;
    progress.reach(done);
    isValid &&= verification.valid;
    lines.push(...linesOf(tenantId, verification, own.length));
  }
  return { lines, isValid, tenantIds };
}

/** How far the logs of all tenants have come. */
async function countEntries(db: Reader): Promise<number> {
  const rows = await db.selectFrom('audit_heads').select('seq').execute();
  return rows.reduce((sum, { seq }) => sum + Number(seq), 0);
}

/** Collects tenants from their keys, logs and this node's anchor too, because a tenant's row, or all its rows, may have been deleted. */
async function everyTenant(db: Reader, seen: Iterable<string>): Promise<string[]> {
  const ids = new Set<string>(seen);
  for (const table of ['tenants', 'audit_heads', 'audit_segments', 'keys'] as const) {
    const rows = await db.selectFrom(table).select('tenant_id').distinct().execute();
    for (const { tenant_id } of rows) ids.add(tenant_id);
  }
  ids.delete(SYSTEM_TENANT);
  return [...ids].sort();
}

function linesOf(tenantId: string, verification: Verification, expected: number): string[] {
  const { entries, first_broken, checkpoints, rows } = verification;
  const held = expected > 0 ? `, ${expected} stored elsewhere` : '';
  const lines = [`${tenantId}: ${entries} entries, ${checkpoints} checkpoints${held}, ${rows.checked} rows`];
  if (first_broken !== null) lines.push(`  entry ${first_broken.seq}: ${first_broken.reason}`);
  for (const { table, row, problem } of rows.problems) lines.push(`  ${table} ${row}: ${problem}`);
  const more = rows.problems_count - rows.problems.length;
  if (more > 0) lines.push(`  and ${more} more`);
  return lines;
}

interface CheckpointFile extends ExpectedHead {
  tenantId: string;
  id: number;
}

/** Reads a file of `CV_CHECKPOINT_DIR`, or a response of `GET /v1/audit/checkpoints`. */
function checkpointsIn(file: string): CheckpointFile[] {
  let content: { checkpoint?: unknown; checkpoints?: unknown[] };
  try {
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartError(
      `The checkpoint ${file} cannot be read (${code ?? 'not JSON'}). Give a file that this service wrote.`,
    );
  }
  const found = content.checkpoints ?? [content.checkpoint];
  return found.map((value) => {
    const { id, tenant_id, seq, hash } = (value ?? {}) as Record<string, unknown>;
    if (typeof tenant_id !== 'string' || typeof hash !== 'string' || !Number.isSafeInteger(seq)) {
      throw new StartError(`${file} contains no checkpoint. Give a file that this service wrote.`);
    }
    return { tenantId: tenant_id, id: Number(id), by: `checkpoint ${id} in ${file}`, seq: Number(seq), hash };
  });
}

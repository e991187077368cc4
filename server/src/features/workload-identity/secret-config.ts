import type { Kernel } from '../../kernel/request/kernel.ts';
import type { MethodRow } from './store.ts';

const PURPOSE = 'workload';

/** Config members that are stored sealed. */
export type Secrets = Readonly<Record<string, unknown>>;

export async function seal(
  kernel: Pick<Kernel, 'keyring'>,
  tenantId: string,
  methodNo: number,
  secrets: Secrets,
): Promise<Buffer | null> {
  if (Object.keys(secrets).length === 0) return null;
  return kernel.keyring.seal(PURPOSE, place(tenantId, methodNo), Buffer.from(JSON.stringify(secrets), 'utf8'));
}

export async function unseal(kernel: Pick<Kernel, 'keyring'>, row: MethodRow): Promise<Secrets> {
  if (row.sealed_secrets === null) return {};
  const bytes = await kernel.keyring.unseal(PURPOSE, place(row.tenant_id, row.method_no), row.sealed_secrets);
  return JSON.parse(bytes.toString('utf8')) as Secrets;
}

function place(tenantId: string, methodNo: number) {
  return { tenantId, table: 'workload_methods', row: String(methodNo) };
}

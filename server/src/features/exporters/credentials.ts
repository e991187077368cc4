import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Credentials } from './schemas.ts';
import type { ExporterKey, ExporterRow } from './store.ts';

const PURPOSE = 'exporter';

export async function sealCredentials(
  kernel: Pick<Kernel, 'keyring'>,
  key: ExporterKey,
  credentials: Credentials,
): Promise<Buffer | null> {
  if (Object.keys(credentials).length === 0) return null;
  return kernel.keyring.seal(PURPOSE, sealedFor(key), Buffer.from(JSON.stringify(credentials), 'utf8'));
}

export async function unsealCredentials(kernel: Pick<Kernel, 'keyring'>, row: ExporterRow): Promise<Credentials> {
  if (row.sealed_credentials === null) return {};
  const bytes = await kernel.keyring.unseal(PURPOSE, sealedFor(row), row.sealed_credentials);
  return JSON.parse(bytes.toString('utf8')) as Credentials;
}

function sealedFor({ tenant_id, exporter_id }: ExporterKey) {
  return { tenantId: tenant_id, table: 'exporters', row: exporter_id };
}

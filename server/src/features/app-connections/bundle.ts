import { DAY_MS } from '../../kernel/base/clock.ts';
import { CofferError, notFound } from '../../kernel/base/errors.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import { ARCHIVE_PASSWORD_HEADER, newArchivePassword } from './archive-password.ts';
import type * as contract from './contract.ts';
import { CERTIFICATE_DAYS_DEFAULT } from './contract.ts';
import type { ConnectionCertificates } from './ports.ts';
import { existing, refuseUnshareable } from './service.ts';
import * as store from './storage/connection-store.ts';

/** AES-256 in the AE-2 format, which 7-Zip and bsdtar can open. */
const AES_256 = 3;

/** Loaded at the first bundle: it is fifty modules, and few installations export one. */
const loadZip = () => import('@zip.js/zip.js');

/** Packs what a machine needs into one file: a new certificate and its key, which are stored nowhere else. */
export async function exportBundle(
  ctx: Context,
  certificates: ConnectionCertificates,
  text: string,
  body: Body<typeof contract.exportBundle>,
): Promise<Uint8Array> {
  ctx.access.requireUnrestricted();
  const row = await existing(ctx, text);
  await refuseUnshareable(ctx, row);
  if (row.external_ca_pem !== null) {
    throw new CofferError(
      'IN_USE',
      'The certificates of this connection are issued by an external CA, so there is nothing to export: get them from that CA.',
    );
  }
  const { tenant_id: tenantId, client_id: clientId, connection_no: connectionNo } = row;
  const ttlMs = (body.certificate_ttl_days ?? CERTIFICATE_DAYS_DEFAULT) * DAY_MS;
  const prepared = await certificates.prepare({ tenantId, clientId, connectionNo, ttlMs });
  const password = body.password ?? newArchivePassword();
  const archive = await encrypted(password, {
    'client.crt': prepared.certificate,
    'client.key': prepared.private_key ?? '',
    'ca-chain.pem': prepared.ca_chain,
    'connection.json': connectionFile(ctx, row),
    'README.txt': readme(ctx, row),
  });
  ctx.record.describe({ client_id: clientId });
  if (body.password === undefined) ctx.setHeader(ARCHIVE_PASSWORD_HEADER, password);
  return ctx.change(async (tx) => {
    if ((await store.lockConnection(tx, tenantId, connectionNo)) === undefined) throw notFound('connection');
    await certificates.insert(tx, prepared.row);
    ctx.record.addEntry('cert_issued', ctx.record.resource, { client_id: clientId });
    await raiseEpoch(tx, tenantId);
    return archive;
  });
}

async function encrypted(password: string, files: Record<string, string>): Promise<Uint8Array> {
  const { configure, TextReader, Uint8ArrayWriter, ZipWriter } = await loadZip();
  configure({ useWebWorkers: false });
  const writer = new ZipWriter(new Uint8ArrayWriter(), { password, encryptionStrength: AES_256 });
  for (const [name, text] of Object.entries(files)) await writer.add(name, new TextReader(text));
  return writer.close();
}

function connectionFile(ctx: Context, row: store.ConnectionRow): string {
  const { baseUrl, certificateUrl } = ctx.kernel.addresses;
  const facts = {
    name: row.name,
    client_id: row.client_id,
    base_url: baseUrl,
    tls_url: certificateUrl ?? baseUrl,
    allowed_paths: JSON.parse(row.allowed_paths) as string[],
    mtls_required: row.mtls_required === 1,
    require_dpop: row.require_dpop === 1,
  };
  return `${JSON.stringify(facts, null, 2)}\n`;
}

function readme(ctx: Context, row: store.ConnectionRow): string {
  const { baseUrl, certificateUrl } = ctx.kernel.addresses;
  return `Credentials of the connection ${row.name} (client id ${row.client_id}).

client.crt and client.key are its certificate and private key, ca-chain.pem contains the CA certificates to trust,
and connection.json the addresses of the service. The client secret is not included: it was shown once, when it was created.

    curl --cacert ca-chain.pem --cert client.crt --key client.key \\
      ${certificateUrl ?? baseUrl}/app-connections/fetch/${row.client_id}/<vault>/<secret>

Keep client.key private, and delete this archive after unpacking it.
`;
}

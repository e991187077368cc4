import type { CredentialScheme, Resolved, View } from '../../kernel/auth/authentication.ts';
import type { Call } from '../../kernel/auth/call.ts';
import type { Principal } from '../../kernel/auth/principal.ts';
import { equalBytes, sha256 } from '../../kernel/crypto/digest.ts';
import type { EndpointDeclaration } from '../../kernel/endpoint/declaration.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { CLIENT_SECRET } from './client-secret.ts';
import type { ConnectionCertificates } from './ports.ts';
import { actingConnection, invalidClient, unknownClient } from './principal.ts';
import { proofSize, proverOf } from './proving.ts';
import { type ConnectionRow, findClient } from './storage/connection-store.ts';

const CLIENT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** A connection's own credentials do not expire; its tokens do. */
const NEVER = Number.MAX_SAFE_INTEGER;
const NO_TOKEN = { token: null, tokenKey: null, tokenThumbprint: null };
/** The stricter kind comes last: an endpoint that accepts the certificate alone also accepts it with a proof. */
const CERTIFICATE_KINDS = ['certificate', 'bound_certificate'] as const;
const NO_HASH = sha256('');

/** Authenticates by `X-Client-Id` and `X-Client-Secret`. */
export class ConnectionScheme implements CredentialScheme {
  readonly #kernel: Pick<Kernel, 'clock' | 'database' | 'dpop'>;
  readonly #certificates: ConnectionCertificates;

  constructor(kernel: Pick<Kernel, 'clock' | 'database' | 'dpop'>, certificates: ConnectionCertificates) {
    this.#kernel = kernel;
    this.#certificates = certificates;
  }

  detect({ headers }: Call): string | null {
    const secret = headers['x-client-secret'];
    if (secret === undefined) return null;
    const clientId = String(headers['x-client-id'] ?? '');
    if (!CLIENT_ID.test(clientId)) throw invalidClient('X-Client-Id is missing or no client id');
    if (!CLIENT_SECRET.matches(String(secret)))
      throw invalidClient('X-Client-Secret has a form that no client secret has');
    return `connection ${clientId} ${secret}`;
  }

  async resolve(credential: string, _call: Call, view: View): Promise<Resolved> {
    const [, clientId = '', secret = ''] = credential.split(' ');
    const found = await findClient(view.db, clientId);
    // The epoch must be read before the row that is used, so the row is read again.
    const epoch = found === undefined ? null : await view.epochOf(found.tenant_id);
    const row = found && (await findClient(view.db, clientId));
    const hash = sha256(secret);
    const isCurrent = equalBytes(row?.secret_hash ?? NO_HASH, hash);
    const isFormer = equalBytes(row?.former_secret_hash ?? NO_HASH, hash);
    if (row === undefined || epoch === null) throw await unknownClient(view.db, clientId);
    if (!isCurrent && !isFormer) throw invalidClient('the client secret is wrong', row);
    const expiresAt = isCurrent ? NEVER : (row.former_secret_until ?? 0);
    if (expiresAt <= this.#kernel.clock.now()) {
      throw invalidClient('the client secret was replaced', row);
    }
    return resolved({ kernel: this.#kernel, certificates: this.#certificates, db: view.db }, row, epoch, {
      credential: 'connection',
      expiresAt,
    });
  }
}

/** Authenticates by a client certificate alone, where an endpoint accepts that. */
export class CertificateScheme implements CredentialScheme {
  readonly #kernel: Pick<Kernel, 'database' | 'dpop'>;
  readonly #certificates: ConnectionCertificates;

  constructor(kernel: Pick<Kernel, 'database' | 'dpop'>, certificates: ConnectionCertificates) {
    this.#kernel = kernel;
    this.#certificates = certificates;
  }

  detect(call: Call, { credentials }: EndpointDeclaration): string | null {
    if (call.certificate === null) return null;
    const kind = CERTIFICATE_KINDS.find((one) => credentials.includes(one));
    if (kind === undefined) return null;
    const { authorization, 'x-client-secret': secret, 'x-client-id': header } = call.headers;
    if (authorization !== undefined || secret !== undefined) return null;
    const named = header ?? call.params['client_id'] ?? this.#certificates.claimed(call.certificate)?.clientId;
    const clientId = String(named ?? '');
    if (!CLIENT_ID.test(clientId)) throw invalidClient('neither the certificate nor a header names a client');
    return `${kind} ${clientId} ${call.certificate.thumbprint}`;
  }

  /** The certificate only identifies the client here. Whether it belongs to that client is checked on each request, like every proof. */
  async resolve(credential: string, _call: Call, view: View): Promise<Resolved> {
    const [kind, clientId = ''] = credential.split(' ');
    const found = await findClient(view.db, clientId);
    const epoch = found === undefined ? null : await view.epochOf(found.tenant_id);
    const row = found && (await findClient(view.db, clientId));
    if (row === undefined || epoch === null) throw await unknownClient(view.db, clientId);
    return resolved({ kernel: this.#kernel, certificates: this.#certificates, db: view.db }, row, epoch, {
      credential: kind as (typeof CERTIFICATE_KINDS)[number],
      expiresAt: NEVER,
    });
  }
}

async function resolved(
  {
    kernel,
    certificates,
    db,
  }: { kernel: Pick<Kernel, 'database' | 'dpop'>; certificates: ConnectionCertificates; db: Reader },
  row: ConnectionRow,
  epoch: number,
  how: Pick<Principal, 'credential' | 'expiresAt'>,
): Promise<Resolved> {
  const { credential, expiresAt } = how;
  const acting = await actingConnection(db, row, { credential, credentialId: row.client_id, expiresAt });
  if (acting.principal === null) throw invalidClient(acting.refusal, row);
  return {
    principal: acting.principal,
    epoch,
    prove: proverOf(kernel, certificates, row, { ...NO_TOKEN, kind: credential }),
    proofBytes: proofSize(row),
  };
}

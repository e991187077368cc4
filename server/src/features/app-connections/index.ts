import { removeRecorded } from '../../kernel/audit/removal.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { bind } from '../../kernel/endpoint.ts';
import { CofferError } from '../../kernel/errors.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { SECOND_LOOK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import { readValue, type SecretReader } from '../secrets/index.ts';
import { autoPaths } from './auto-paths.ts';
import { exportBundle } from './bundle.ts';
import { revokeCertificate } from './certificates.ts';
import * as contract from './contract.ts';
import type { ConnectionCertificates } from './ports.ts';
import { rotate } from './rotation.ts';
import { CertificateScheme, ConnectionScheme } from './schemes.ts';
import * as connections from './service.ts';
import { CONNECTION_TOKENS, expiredBefore } from './token-store.ts';

export {
  asLoginDenied,
  attributeTo,
  boundKey,
  lockActive,
  loginDenied,
  refuseInactive,
  refuseSuspended,
} from './exchange.ts';
export type { ConnectionCertificates, PreparedCertificate } from './ports.ts';
export { actingConnection, connectionPolicies } from './principal.ts';
export {
  existing as existingConnection,
  find as findConnection,
  type RemovalPorts,
  refuseDenied as refuseDeniedConnection,
  refuseUnshareable,
} from './service.ts';
export {
  CONNECTIONS,
  type ConnectionRow,
  connectionNumbers,
  findByClient,
  findClient,
  findConnection as findConnectionByKey,
  findNumbered as findConnectionNumbered,
  isNumberTaken,
  lockConnection,
  numberOf,
  resourcesOf as connectionResources,
} from './store.ts';
export { CONNECTION_TOKENS, findConnectionToken, insertConnectionToken, revokeTokensFrom } from './token-store.ts';
export { ConnectionTokens, issueConnectionToken } from './tokens.ts';

export interface ConnectionParts extends connections.RemovalPorts {
  certificates: ConnectionCertificates;
  reader: SecretReader;
}

export function appConnectionsFeature(kernel: Kernel, parts: ConnectionParts): Feature {
  const { certificates, reader } = parts;
  return {
    name: 'app-connections',
    credentialSchemes: [new ConnectionScheme(kernel, certificates), new CertificateScheme(kernel, certificates)],
    jobs: [
      {
        name: 'forget-connection-tokens',
        intervalMs: HOUR_MS,
        // These tokens live for about an hour, and their holders can always exchange their identity for a new one.
        removes: { secondLookMs: SECOND_LOOK_MS, share: null },
        run: (signal, cutoff) => {
          const which = expiredBefore(earlier(cutoff, HOUR_MS));
          const removal = { job: 'forget-connection-tokens', action: 'connection_tokens:purge' };
          return removeRecorded(kernel, { ...removal, table: CONNECTION_TOKENS, which }, signal);
        },
      },
    ],
    endpoints: [
      bind(contract.createConnection, (ctx, { body }) => connections.create(ctx, certificates, body)),
      bind(contract.listConnections, (ctx, { query }) => connections.list(ctx, query)),
      bind(contract.listAutoPaths, (ctx, { query }) => autoPaths(ctx, query)),
      bind(contract.readConnectionByClient, (ctx, { params }) => connections.read(ctx, params.client_id)),
      bind(contract.readConnection, (ctx, { params }) => connections.read(ctx, params.connection)),
      bind(contract.updateConnection, (ctx, { params, body }) => connections.update(ctx, params.connection, body)),
      bind(contract.deleteConnection, (ctx, { params }) =>
        connections.remove(ctx, certificates, parts, params.connection),
      ),
      bind(contract.rotateConnection, (ctx, { params, body }) => rotate(ctx, certificates, params.connection, body)),
      bind(contract.revokeCertificate, (ctx, { params, body }) =>
        revokeCertificate(ctx, certificates, params.connection, params.serial, body.reason ?? ''),
      ),
      bind(contract.exportBundle, (ctx, { params, body }) => exportBundle(ctx, certificates, params.connection, body)),
      bind(contract.fetchSecret, async (ctx, { params }) => {
        if (params.client_id !== ctx.principal.id) throw notThisClient();
        return readValue(ctx, reader, params.vault, params.secret, undefined);
      }),
    ],
  };
}

function notThisClient(): CofferError {
  return new CofferError('INSUFFICIENT_PRIVILEGE', 'The path names another client than the one that asks.', {
    auditReason: 'the path names another client',
  });
}

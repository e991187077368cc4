import { removeRecorded } from '../../kernel/audit/removal.ts';
import { HOUR_MS } from '../../kernel/platform/clock.ts';
import { CofferError } from '../../kernel/platform/errors.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import { certificatesOf } from '../certificates/index.ts';
import { secretReader } from '../secrets/index.ts';
import { autoPaths } from './auto-paths.ts';
import { exportBundle } from './bundle.ts';
import { listCertificates, revokeCertificate } from './certificates.ts';
import * as contract from './contract.ts';
import { connectionPolicies } from './principal.ts';
import { limitsForPolicy } from './proposal.ts';
import { rotate } from './rotation.ts';
import { CertificateScheme, ConnectionScheme } from './schemes.ts';
import * as connections from './service.ts';
import { resourcesOf } from './store.ts';
import { CONNECTION_TOKENS, expiredBefore } from './token-store.ts';
import { ConnectionTokens } from './tokens.ts';

export {
  asLoginDenied,
  attributeTo,
  checkAddressAndDpop,
  lockUnchanged,
  loginDenied,
  refuseInactive,
  refuseSuspended,
} from './exchange.ts';
export type { ConnectionCertificates, PreparedCertificate } from './ports.ts';
export { actingConnection, allowlistOf } from './principal.ts';
export {
  existing as existingConnection,
  find as findConnection,
  refuseDenied as refuseDeniedConnection,
  refuseUnshareable,
} from './service.ts';
export {
  authenticConnectionsAfter,
  CONNECTIONS,
  type ConnectionRow,
  connectionNumbers,
  connectionsAfter,
  connectionsByKey,
  countConnections,
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
export { issueConnectionToken } from './tokens.ts';

export function appConnectionsFeature(kernel: Kernel, wiring: Wiring): Feature {
  const certificates = certificatesOf(kernel);
  const reader = secretReader(kernel);
  const removed = wiring.removal('connection');
  const resolvers = [
    new ConnectionTokens('federation', kernel, certificates),
    new ConnectionTokens('workload', kernel, certificates),
  ];
  return {
    name: 'app-connections',
    credentialSchemes: [new ConnectionScheme(kernel, certificates), new CertificateScheme(kernel, certificates)],
    provides: {
      machineTokenResolvers: () => resolvers,
      clientIdOfConnection: async (db, tenantId, text) => (await connections.find(db, tenantId, text))?.client_id,
      allPoliciesOfConnection: connectionPolicies,
      limitsOfConnection: limitsForPolicy,
      resourcesOfConnection: async (db, tenantId, clientId) => {
        const row = await connections.find(db, tenantId, clientId);
        return row === undefined ? [] : resourcesOf(row);
      },
    },
    jobs: [
      {
        name: 'forget-connection-tokens',
        intervalMs: HOUR_MS,
        // These tokens live for about an hour, and their holders can always exchange their identity for a new one.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (signal, cutoff) => {
          const which = expiredBefore(earlier(cutoff, HOUR_MS));
          const removal = { job: 'forget-connection-tokens', action: 'connection_tokens:purge' };
          return removeRecorded(kernel, { ...removal, table: CONNECTION_TOKENS, which }, signal);
        },
      },
    ],
    endpoints: bindContract(contract, {
      createConnection: (ctx, { body }) => connections.create(ctx, certificates, body),
      listConnections: (ctx, { query }) => connections.list(ctx, query),
      listAutoPaths: (ctx, { query }) => autoPaths(ctx, query),
      readConnectionByClient: (ctx, { params }) => connections.read(ctx, params.client_id),
      readConnection: (ctx, { params }) => connections.read(ctx, params.connection),
      updateConnection: (ctx, { params, body }) => connections.update(ctx, params.connection, body),
      deleteConnection: (ctx, { params }) => connections.remove(ctx, certificates, removed, params.connection),
      rotateConnection: (ctx, { params, body }) => rotate(ctx, certificates, params.connection, body),
      listCertificates: (ctx, { params, query }) => listCertificates(ctx, certificates, params.connection, query),
      revokeCertificate: (ctx, { params, body }) =>
        revokeCertificate(ctx, certificates, params.connection, params.serial, body.reason ?? ''),
      exportBundle: (ctx, { params, body }) => exportBundle(ctx, certificates, params.connection, body),
      fetchSecret: async (ctx, { params }) => {
        if (params.client_id !== ctx.principal.id) throw notThisClient();
        return reader.read(ctx, { vault: params.vault, path: params.secret });
      },
    }),
  };
}

function notThisClient(): CofferError {
  return new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    'The client id in the path is not that of the authenticated connection: use your own client id.',
    {
      auditReason: 'the path names another client',
    },
  );
}

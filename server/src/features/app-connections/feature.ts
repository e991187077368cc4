import { removeRecorded } from '../../kernel/audit/log/removal.ts';
import { HOUR_MS } from '../../kernel/base/clock.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { earlier } from '../../kernel/time/cutoff.ts';
import { sharedCertificates } from '../certificates/index.ts';
import {
  allPoliciesOfConnection,
  clientIdOfConnection,
  connectionRemoved,
  limitsOfConnection,
  resourcesOfConnection,
} from '../policies/index.ts';
import { sharedSecretReader } from '../secrets/index.ts';
import { machineTokenResolvers } from '../tokens/index.ts';
import { autoPaths } from './auto-paths.ts';
import { exportBundle } from './bundle.ts';
import { listCertificates, revokeCertificate } from './certificates.ts';
import * as contract from './contract.ts';
import { CONNECTION_TOKENS, expiredBefore } from './login/token-store.ts';
import { ConnectionTokens } from './login/tokens.ts';
import { connectionPolicies } from './principal.ts';
import { limitsForPolicy } from './proposal.ts';
import { rotate } from './rotation.ts';
import { CertificateScheme, ConnectionScheme } from './schemes.ts';
import * as connections from './service.ts';
import { CONNECTIONS, resourcesOf } from './storage/connection-store.ts';

export const appConnectionsFeature = feature({
  name: 'app-connections',
  endpoints: contract,
  tables: {
    authenticated: [CONNECTION_TOKENS, CONNECTIONS],
    plain: {
      connection_sessions:
        'limits how many use a credential at once; a forged one keeps its own connection out, or lets in one more who has the credential',
    },
  },
  uses: ['audit', 'clock', 'database', 'dpop', 'regionGate'],
  removes: { connectionRemoved },
  needs: { certificates: sharedCertificates, reader: sharedSecretReader },
  build(parts) {
    const { certificates, reader } = parts;
    const resolvers = [
      new ConnectionTokens('federation', parts, certificates),
      new ConnectionTokens('workload', parts, certificates),
    ];
    return {
      credentialSchemes: [new ConnectionScheme(parts, certificates), new CertificateScheme(parts, certificates)],
      provides: [
        machineTokenResolvers.by(() => resolvers),
        clientIdOfConnection.by(async (db, tenantId, text) => (await connections.find(db, tenantId, text))?.client_id),
        allPoliciesOfConnection.by(connectionPolicies),
        limitsOfConnection.by(limitsForPolicy),
        resourcesOfConnection.by(async (db, tenantId, clientId) => {
          const row = await connections.find(db, tenantId, clientId);
          return row === undefined ? [] : resourcesOf(row);
        }),
      ],
      jobs: [
        {
          name: 'forget-connection-tokens',
          intervalMs: HOUR_MS,
          // These tokens live for about an hour, and their holders can always exchange their identity for a new one.
          removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
          run: (signal, cutoff) => {
            const which = expiredBefore(earlier(cutoff, HOUR_MS));
            const removal = { job: 'forget-connection-tokens', action: 'connection_tokens:purge' };
            return removeRecorded(parts, { ...removal, table: CONNECTION_TOKENS, which }, signal);
          },
        },
      ],
      handlers: {
        createConnection: (ctx, { body }) => connections.create(ctx, certificates, body),
        listConnections: (ctx, { query }) => connections.list(ctx, query),
        listAutoPaths: (ctx, { query }) => autoPaths(ctx, query),
        readConnectionByClient: (ctx, { params }) => connections.read(ctx, params.client_id),
        readConnection: (ctx, { params }) => connections.read(ctx, params.connection),
        updateConnection: (ctx, { params, body }) => connections.update(ctx, params.connection, body),
        deleteConnection: (ctx, { params }) =>
          connections.remove(ctx, certificates, parts.connectionRemoved, params.connection),
        rotateConnection: (ctx, { params, body }) => rotate(ctx, certificates, params.connection, body),
        listCertificates: (ctx, { params, query }) => listCertificates(ctx, certificates, params.connection, query),
        revokeCertificate: (ctx, { params, body }) =>
          revokeCertificate(ctx, certificates, params.connection, { serial: params.serial, reason: body.reason ?? '' }),
        exportBundle: (ctx, { params, body }) => exportBundle(ctx, certificates, params.connection, body),
        fetchSecret: async (ctx, { params }) => {
          if (params.client_id !== ctx.principal.id) throw notThisClient();
          return reader.read(ctx, { vault: params.vault, path: params.secret });
        },
      },
    };
  },
});

function notThisClient(): CofferError {
  return new CofferError(
    'INSUFFICIENT_PRIVILEGE',
    'The client id in the path is not that of the authenticated connection: use your own client id.',
    {
      auditReason: 'the path names another client',
    },
  );
}

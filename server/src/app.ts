import type { Logger } from 'pino';
import packageJson from '../package.json' with { type: 'json' };
import { AUTHENTICATED_TABLES } from './authenticated-tables.ts';
import { bootstrap } from './bootstrap.ts';
import { aggregateFeature } from './features/aggregate/index.ts';
import {
  appConnectionsFeature,
  ConnectionTokens,
  connectionPolicies,
  findConnection,
} from './features/app-connections/index.ts';
import {
  type ApprovalPorts,
  type ApprovalsFeature,
  approvalsFeature,
  breakGlassUsesOf,
} from './features/approvals/index.ts';
import { attestationFeature } from './features/attestation/index.ts';
import { auditFeature } from './features/audit/index.ts';
import { Certificates, certificatesFeature, OwnIdentity } from './features/certificates/index.ts';
import {
  eaasFeature,
  markPending as markKeyPending,
  unmarkPending as unmarkKeyPending,
} from './features/eaas/index.ts';
import { environmentsFeature, forgetSecrets } from './features/environments/index.ts';
import { esoFeature } from './features/eso/index.ts';
import { deleteFederationsOf, federationsFeature } from './features/federations/index.ts';
import { forgetGroupMember, groupsFeature } from './features/groups/index.ts';
import { healthFeature } from './features/health/index.ts';
import { forgetSecondFactor, mfaFeature, secondFactorSince } from './features/mfa/index.ts';
import {
  forgetPrincipal,
  policiesFeature,
  policiesTouching,
  policyNamesOf,
  touchedBy,
} from './features/policies/index.ts';
import { PqcKeys, pqcFeature } from './features/pqc/index.ts';
import { referenceFeature } from './features/reference/index.ts';
import { searchFeature } from './features/search/index.ts';
import {
  fortressVaults,
  purgeSecrets,
  SecretReader,
  secretIds,
  secretsFeature,
  visibleAttributes,
} from './features/secrets/index.ts';
import { sessionsFeature } from './features/sessions/index.ts';
import { tenantsFeature } from './features/tenants/index.ts';
import { purgeTokens, tokenizationFeature } from './features/tokenization/index.ts';
import { revokeOfUser, tokensFeature } from './features/tokens/index.ts';
import { transferFeature } from './features/transfer/index.ts';
import { usersFeature } from './features/users/index.ts';
import {
  auditRetentions,
  forgetMember,
  managedBy,
  managersOf,
  markPending,
  membershipsOf,
  unmarkPending,
  vaultsFeature,
} from './features/vaults/index.ts';
import { deleteMethodsOf, workloadIdentityFeature } from './features/workload-identity/index.ts';
import type { Heads } from './kernel/audit/heads.ts';
import { Authentication } from './kernel/auth/authentication.ts';
import { PROOF_LIFE_MS } from './kernel/auth/dpop-guard.ts';
import { HOUR_MS, MINUTE_MS } from './kernel/clock.ts';
import type { Config } from './kernel/config.ts';
import type { EndpointDeclaration } from './kernel/endpoint.ts';
import type { Feature } from './kernel/feature.ts';
import { createHttpServer } from './kernel/http/server.ts';
import { CurrentIdentity, IdentityFiles } from './kernel/http/tls-identity.ts';
import { type Job, JobRunner } from './kernel/jobs/job-runner.ts';
import type { Kernel } from './kernel/kernel.ts';
import { forgetRateWindows, RateSharing, WINDOWS_KEPT_MS } from './kernel/limits/rate-sharing.ts';
import { HttpClient } from './kernel/outbound/http-client.ts';
import { KeySets } from './kernel/outside-identity/key-sets.ts';
import { makeReady, Pipeline, type ReadyEndpoint } from './kernel/pipeline.ts';
import { refuseWrongStart, SECOND_LOOK_MS } from './kernel/time/clock-guard.ts';
import { systemTime, type TimeSources } from './kernel/time/sources.ts';
import { numberConnections } from './number-connections.ts';
import { openKernel, openStorage } from './open-kernel.ts';

export const VERSION = packageJson.version;

interface Shared {
  heads: Heads;
  state: AppState;
  approvals: ApprovalsFeature;
  certificates: Certificates;
  /** The declarations of all endpoints, once every feature is assembled. */
  declarations: () => readonly EndpointDeclaration[];
}

function featuresOf(kernel: Kernel, { heads, state, approvals, certificates, declarations }: Shared): Feature[] {
  const reader = new SecretReader(kernel.database);
  const http = new HttpClient(kernel.outbound);
  const keySets = new KeySets(http, kernel.clock);
  const pqcKeys = new PqcKeys(kernel);
  return [
    sessionsFeature(kernel, { breakGlassUsesOf }),
    tokensFeature(kernel, [
      new ConnectionTokens('federation', kernel, certificates),
      new ConnectionTokens('workload', kernel, certificates),
    ]),
    mfaFeature(),
    usersFeature({
      revokeTokens: (tx, tenantId, userId, now) => revokeOfUser(tx, tenantId, userId, 'all', now, ''),
      forget: async (tx, tenantId, userId) => {
        await forgetGroupMember(tx, tenantId, userId);
        await forgetSecondFactor(tx, tenantId, userId);
        await forgetPrincipal(tx, tenantId, 'user', userId);
        await forgetMember(tx, tenantId, 'user', userId);
      },
      secondFactorSince,
    }),
    groupsFeature({
      forget: async (tx, tenantId, groupId) => {
        await forgetPrincipal(tx, tenantId, 'group', groupId);
        await forgetMember(tx, tenantId, 'group', groupId);
      },
      rightsOf: async (tx, tenantId, groupId) => {
        const memberships = await membershipsOf(tx, tenantId, [{ kind: 'group', id: groupId }]);
        const policies = await policyNamesOf(tx, tenantId, 'group', groupId);
        const inVaults = memberships.map(({ vault, role }) => `${role} of vault ${vault}`).sort();
        return [...policies.map((name) => `policy ${name}`), ...inVaults];
      },
      reachOf: async (tx, tenantId, groupId) => {
        const asGroup = { kind: 'group' as const, id: groupId };
        const memberships = await membershipsOf(tx, tenantId, [asGroup]);
        const isTouched = await touchedBy(tx, tenantId, asGroup);
        return (vault) => memberships.some((one) => one.vault === vault) || isTouched(vault);
      },
    }),
    policiesFeature({
      clientIdOf: async (db, tenantId, text) => (await findConnection(db, tenantId, text))?.client_id,
      policiesOfConnection: connectionPolicies,
      attributesOf: visibleAttributes,
    }),
    vaultsFeature(kernel, {
      secretIds,
      policiesTouching,
      purgeContents: async (tx, tenantId, vaultId, limit) => {
        await purgeTokens(tx, tenantId, vaultId);
        return purgeSecrets(tx, tenantId, vaultId, limit, SECRET_OBSERVERS);
      },
    }),
    secretsFeature(kernel, SECRET_OBSERVERS, reader),
    aggregateFeature(),
    searchFeature(),
    tokenizationFeature(kernel),
    transferFeature(),
    approvals,
    environmentsFeature(),
    certificatesFeature(certificates),
    appConnectionsFeature(kernel, {
      certificates,
      reader,
      forget: async (tx, tenantId, { client_id, connection_no }) => {
        await forgetPrincipal(tx, tenantId, 'app_connection', client_id);
        await deleteFederationsOf(tx, tenantId, connection_no);
        await deleteMethodsOf(tx, tenantId, connection_no);
      },
    }),
    federationsFeature({ certificates, keySets }),
    workloadIdentityFeature({ http, keySets }),
    esoFeature(reader),
    eaasFeature(kernel),
    attestationFeature(kernel),
    pqcFeature(pqcKeys),
    tenantsFeature(),
    auditFeature({ kernel, heads, keys: pqcKeys, tables: AUTHENTICATED_TABLES, retentions: auditRetentions }),
    healthFeature(kernel, () => state.isStopping),
    referenceFeature({
      declarations,
      version: VERSION,
      serverUrl: () => kernel.addresses.baseUrl,
    }),
  ];
}

const SECRET_OBSERVERS = { forget: forgetSecrets };

interface AppState {
  isStopping: boolean;
}

/** Connects every feature with the others, for the server process and for operator commands. */
export function assemble(kernel: Kernel, heads: Heads, state: AppState = { isStopping: false }) {
  const byName = new Map<string, ReadyEndpoint>();
  const approvalPorts: ApprovalPorts = {
    managedBy,
    managersOf,
    fortressVaults: (tenantId) => fortressVaults(kernel.database.read, tenantId),
    hooks: {
      vault_delete: { requested: markPending, released: unmarkPending },
      eaas_key_delete: { requested: markKeyPending, released: unmarkKeyPending },
    },
    endpoint: (name) => byName.get(name),
  };
  const approvals = approvalsFeature(kernel, approvalPorts);
  const certificates = new Certificates(kernel);
  const declarations = () => endpoints.map(({ declaration }) => declaration);
  const features = featuresOf(kernel, { heads, state, approvals, certificates, declarations });
  const endpoints = features.flatMap((feature) => feature.endpoints).map((bound) => makeReady(bound, JSON.stringify));
  for (const endpoint of endpoints) byName.set(endpoint.declaration.name, endpoint);
  return { features, endpoints, approvals, approvalPorts, certificates };
}

export interface App {
  kernel: Kernel;
  baseUrl: string;
  /** Where client certificates are accepted; null without a TLS listener. */
  tlsUrl: string | null;
  /** Whether the TLS certificate comes from the service's own authority. */
  hasOwnIdentity: boolean;
  isFirstStart: boolean;
  tokenFile: string;
  jobs: JobRunner;
  close(): Promise<void>;
}

/** Opens everything in order, then listens. Closing undoes it in the opposite order, after requests in flight have ended. */
export async function startApp(config: Config, log: Logger, time: TimeSources = systemTime): Promise<App> {
  const storage = await openStorage(config);
  try {
    await refuseWrongStart(time, storage.database);
    const { kernel, heads } = await openKernel({ config, time, log, database: storage.database });
    const { isFirstStart, tokenFile } = await bootstrap(kernel);
    await numberConnections(kernel);
    const state: AppState = { isStopping: false };
    const { features, endpoints, approvals, certificates } = assemble(kernel, heads, state);
    const authentication = new Authentication(
      features.flatMap((feature) => feature.credentialSchemes ?? []),
      kernel,
    );
    const pipeline = new Pipeline(kernel, authentication, approvals.queue);
    const identity = await openIdentity(kernel, certificates);
    const server = createHttpServer(kernel, endpoints, pipeline, identity);
    const jobs = new JobRunner({
      ...kernel,
      jobs: [...features.flatMap((feature) => feature.jobs ?? []), ...kernelJobs(kernel)],
    });
    await kernel.clockGuard.firstLook();
    for (const { code, message } of kernel.warnings) log.warn({ warning: code }, message);
    Object.assign(kernel.addresses, await server.listen());
    const background = startBackground(kernel, heads, jobs);
    const close = async () => {
      state.isStopping = true;
      await server.close();
      await identity?.close();
      await background.stop();
      await Promise.all(features.map((feature) => feature.settled?.()));
      await storage.close();
    };
    const { baseUrl, tlsUrl } = kernel.addresses;
    return { kernel, baseUrl, tlsUrl, hasOwnIdentity: config.tls === null, isFirstStart, tokenFile, jobs, close };
  } catch (error) {
    await storage.close();
    throw error;
  }
}

/** The certificate that TLS listeners present: the operator's, or one of the service's own authority. */
async function openIdentity(kernel: Kernel, certificates: Certificates): Promise<CurrentIdentity | null> {
  const { tls, tlsPort } = kernel.config;
  if (tls !== null) return CurrentIdentity.open(new IdentityFiles(tls), kernel.log);
  return tlsPort === null ? null : CurrentIdentity.open(new OwnIdentity(kernel, certificates), kernel.log);
}

function kernelJobs(kernel: Kernel): Job[] {
  const { idempotency, dpop, database, signingKeys } = kernel;
  return [
    {
      name: 'forget-idempotency-keys',
      intervalMs: HOUR_MS,
      // All keys expire within a day or two, so it is normal to delete a large share of them.
      removes: { secondLookMs: SECOND_LOOK_MS, share: null },
      run: (_, cutoff) => idempotency.forgetExpired(cutoff),
    },
    {
      name: 'forget-dpop-proofs',
      intervalMs: 5 * MINUTE_MS,
      // Each request stores one proof, and nearly all are expired at any time. The second check waits one proof lifetime instead of an hour, or
      // expired proofs would fill the disk.
      removes: { secondLookMs: PROOF_LIFE_MS, share: null },
      run: (_, cutoff) => dpop.forgetExpired(cutoff),
    },
    {
      name: 'forget-rate-windows',
      intervalMs: 5 * MINUTE_MS,
      // Deleting a window too early only restarts a minute's count, and all but the newest windows are expired at any time.
      removes: { secondLookMs: WINDOWS_KEPT_MS, share: null },
      run: (_, cutoff) => forgetRateWindows(database, cutoff),
    },
    {
      name: 'forget-signing-keys',
      intervalMs: HOUR_MS,
      removes: { secondLookMs: SECOND_LOOK_MS, share: (cutoff) => signingKeys.endedShare(cutoff) },
      run: (_, cutoff) => signingKeys.forgetEnded(cutoff),
    },
  ];
}

/** Starts the work that runs beside requests. Linking and rate sharing are for several nodes; SQLite has one. */
function startBackground(kernel: Kernel, heads: Heads, jobs: JobRunner): { stop(): Promise<void> } {
  const { audit, refusals, unlistedReads, log } = kernel;
  const sharing = new RateSharing(kernel);
  if (kernel.database.kind === 'postgres') {
    audit.startLinking();
    sharing.start();
  }
  kernel.clockGuard.start();
  heads.startAnchoring(kernel.database);
  jobs.start();
  const writeCounts = async () => {
    await refusals.flush(kernel.clock.now()).catch((error) => log.warn({ err: error }, 'refusals were not recorded'));
    await unlistedReads.flush().catch((error) => log.warn({ err: error }, 'counts of reads were not recorded yet'));
  };
  const timer = setInterval(writeCounts, MINUTE_MS);
  return {
    async stop() {
      clearInterval(timer);
      sharing.stop();
      await jobs.stop();
      await kernel.clockGuard.stop();
      await writeCounts();
      await audit.close();
      await heads.stopAnchoring(kernel.database);
    },
  };
}

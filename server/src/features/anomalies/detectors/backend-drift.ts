import { createHash } from 'node:crypto';
import { backendDrift as driftOfServers } from '../../secrets/rotation/index.ts';
import { TYPES } from '../schemas.ts';
import { type Detector, PLAIN } from './detector.ts';

const NAMED_MAX = 20;
const [, , ROLES_DEFAULT] = TYPES.backend_drift;

/**
 * Database servers with roles that no secret accounts for. A finding names the secret through which the server was reached, since the server's own
 * name is part of a value.
 */
export const backendDrift: Detector = {
  type: 'backend_drift',
  async *detect({ kernel, tenantId, signal, threshold }) {
    const least = threshold('backend_drift') ?? ROLES_DEFAULT;
    for await (const { vaultId, secretId, resource, isProductionFortress, accounted, orphans } of driftOfServers(
      kernel,
      tenantId,
      signal,
    )) {
      if (orphans.length < least || orphans.length === 0) continue;
      yield {
        ...PLAIN,
        resource,
        vaultId,
        secretId,
        isProductionFortress,
        ratio: orphans.length / least,
        baseline: { accounted_roles: accounted },
        observed: { orphan_roles: orphans.length, roles: orphans.slice(0, NAMED_MAX) },
        kind: createHash('sha256').update(JSON.stringify(orphans)).digest('base64url'),
        features: [],
      };
    }
  },
};

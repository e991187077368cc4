import type { Heads } from '../../kernel/audit/heads.ts';
import { bind } from '../../kernel/endpoint.ts';
import type { Feature } from '../../kernel/feature.ts';
import * as contract from './contract.ts';
import * as audit from './service.ts';
import { verify } from './verification.ts';

export { AUDIT_ENDPOINTS } from './contract.ts';

export function auditFeature(heads: Heads): Feature {
  return {
    name: 'audit',
    endpoints: [
      bind(contract.listAudit, (ctx, { query }) => audit.list(ctx, query)),
      bind(contract.verifyAudit, (ctx) => verify(ctx, heads)),
    ],
  };
}

import { timestamp } from '../../kernel/platform/clock.ts';
import type { Output } from '../../kernel/request/declaration.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { breakGlassUsesOf } from '../approvals/index.ts';
import { countActiveAdmins } from '../users/index.ts';
import type { readMe } from './contract.ts';

export type Warning = Output<typeof readMe>['warnings'][number];

/** Older ones are in the audit log. */
const USES_SHOWN_MAX = 10;
const TWO = 2;

/** Warnings for the admins of a tenant. The result is cached, so every change that affects it must raise the epoch. */
export async function warningsFor(db: Reader, tenantId: string): Promise<Warning[]> {
  const admins = await countActiveAdmins(db, tenantId, TWO + 1);
  const uses = await breakGlassUsesOf(db, tenantId, USES_SHOWN_MAX);
  return [...(admins === TWO ? [TWO_ADMINS] : []), ...uses.map(useWarning)];
}

const TWO_ADMINS: Warning = {
  code: 'two_admins',
  message:
    'Your tenant has only two owners and admins: if one is away or loses access, nobody can approve the requests of the other. Add a third.',
  at: null,
};

function useWarning({ action, resource, at }: { action: string; resource: string; at: number }): Warning {
  const message = `An operator used break-glass ${action} on ${resource}; see break_glass:${action} in the audit log.`;
  return { code: 'break_glass', message, at: timestamp(at) };
}

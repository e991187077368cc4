import { timestamp } from '../../kernel/clock.ts';
import type { Output } from '../../kernel/endpoint.ts';
import type { Reader } from '../../kernel/storage/database.ts';
import { countActiveAdmins } from '../users/index.ts';
import type { readMe } from './contract.ts';

export type Warning = Output<typeof readMe>['warnings'][number];

/** What sessions need from approvals. */
export interface WarningPorts {
  /** Actions with which an operator bypassed the approvals of a tenant, newest first. */
  breakGlassUsesOf(
    db: Reader,
    tenantId: string,
    limit: number,
  ): Promise<{ action: string; resource: string; at: number }[]>;
}

/** Older ones are in the audit log. */
const USES_SHOWN_MAX = 10;
const TWO = 2;

/** Warnings for the admins of a tenant. The result is cached, so every change that affects it must raise the epoch. */
export async function warningsFor(db: Reader, tenantId: string, ports: WarningPorts): Promise<Warning[]> {
  const admins = await countActiveAdmins(db, tenantId, TWO + 1);
  const uses = await ports.breakGlassUsesOf(db, tenantId, USES_SHOWN_MAX);
  return [...(admins === TWO ? [TWO_ADMINS] : []), ...uses.map(useWarning)];
}

const TWO_ADMINS: Warning = {
  code: 'two_admins',
  message:
    'Your tenant has two owners and admins: if one is away or loses access, nobody can approve what the other asks for. Make a third.',
  at: null,
};

function useWarning({ action, resource, at }: { action: string; resource: string; at: number }): Warning {
  const message = `Whoever runs the service did break-glass ${action} on ${resource}; the audit log has break_glass:${action}.`;
  return { code: 'break_glass', message, at: timestamp(at) };
}

import { HOUR_MS } from '../../kernel/base/clock.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { WebhookKey, WebhookRow } from './store.ts';

const PURPOSE = 'webhook';
/** How long deliveries are also signed with the secret before the last rotation. */
export const OVERLAP_MS = 24 * HOUR_MS;

export interface WebhookSecrets {
  signing: string;
  previous?: { signing: string; until: number };
  /** PagerDuty's credential, which is part of the body. */
  routing_key?: string;
}

export async function sealSecrets(
  kernel: Pick<Kernel, 'keyring'>,
  key: WebhookKey,
  secrets: WebhookSecrets,
): Promise<Buffer> {
  return kernel.keyring.seal(PURPOSE, sealedFor(key), Buffer.from(JSON.stringify(secrets), 'utf8'));
}

export async function unsealSecrets(kernel: Pick<Kernel, 'keyring'>, row: WebhookRow): Promise<WebhookSecrets> {
  const bytes = await kernel.keyring.unseal(PURPOSE, sealedFor(row), row.sealed_secrets);
  return JSON.parse(bytes.toString('utf8')) as WebhookSecrets;
}

/** The secrets that sign a delivery now, newest first. */
export function signingSecrets({ signing, previous }: WebhookSecrets, now: number): string[] {
  return previous !== undefined && previous.until > now ? [signing, previous.signing] : [signing];
}

function sealedFor({ tenant_id, webhook_id }: WebhookKey) {
  return { tenantId: tenant_id, table: 'webhooks', row: webhook_id };
}

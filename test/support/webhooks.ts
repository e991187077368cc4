import { Webhook } from 'standardwebhooks';
import { type Emitted, emit } from '../../server/src/features/webhooks/index.ts';
import { SECOND_MS } from '../../server/src/kernel/base/clock.ts';
import { ok, type Tenant } from './people.ts';
import type { Answer, Service } from './service.ts';
import type { Received, Receiver } from './siem-receivers.ts';
import { until } from './until.ts';

export const WEBHOOKS = '/webhooks';
export const DRIFT: Emitted = {
  event: 'endpoint.drift',
  object: { name: 'web-1' },
  summary: 'The host web-1 differs from what was recorded.',
  dedupKey: 'web-1',
};
export const ANOMALY: Emitted = {
  event: 'anomaly.detected',
  object: { id: 'a1' },
  severity: 'medium',
  summary: 'Reads of <shop> & others rose.',
  dedupKey: 'a1',
};

/** What tests of webhooks do again and again, in one tenant unless told. */
export function webhookCalls(service: Service, tenant: Tenant) {
  const as = (by: Tenant) => ({ token: by.owner.token });
  const create = (url: string, more: object = {}, by = tenant): Promise<Answer['body']> => {
    const body = { url, events: ['endpoint.drift'], ...more };
    return ok(service.call('POST', WEBHOOKS, { ...as(by), body }), 201);
  };
  const urlOf = ({ id }: { id: string }, verb = '') => `${WEBHOOKS}/${id}${verb}`;
  const remove = (webhook: { id: string }) => ok(service.call('DELETE', urlOf(webhook), as(tenant)));
  const change = (webhook: { id: string }, body: object) =>
    ok(service.call('PATCH', urlOf(webhook), { ...as(tenant), body }));
  const happen = (emitted: Emitted = DRIFT, by = tenant) =>
    service.app.kernel.database.transaction((tx) => emit(tx, by.id, emitted, service.clock.now()));
  const deliveriesOf = async (webhook: { id: string }) =>
    (await ok(service.call('GET', urlOf(webhook, '/deliveries'), as(tenant)))).deliveries as Answer['body'][];
  const newestOf = async (webhook: { id: string }) => (await deliveriesOf(webhook))[0];

  const untilReceived = (receiver: Receiver, count: number) =>
    until(`${count} requests do not arrive`, () => receiver.requests.length >= count);
  const untilAttempts = (webhook: { id: string }, attempts: number) =>
    until(`no ${attempts} attempts are made`, async () => (await newestOf(webhook))?.attempts === attempts);
  const untilEnded = (webhook: { id: string }) =>
    until('a delivery does not end', async () => (await newestOf(webhook))?.status !== 'pending');

  const signaturesOf = ({ headers }: Received) => String(headers['webhook-signature']).split(' ');
  /** Whether the package of the standard makes the same signature. Its own check compares with the real clock, which a test moves. */
  function isSignedWith(secret: string, received: Received): boolean {
    const { headers, body } = received;
    const time = new Date(Number(headers['webhook-timestamp']) * SECOND_MS);
    return signaturesOf(received).includes(new Webhook(secret).sign(String(headers['webhook-id']), time, body));
  }

  return {
    as,
    create,
    urlOf,
    remove,
    change,
    happen,
    deliveriesOf,
    newestOf,
    until,
    untilReceived,
    untilAttempts,
    untilEnded,
    signaturesOf,
    isSignedWith,
  };
}

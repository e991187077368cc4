import { addPerson, ok, type Person } from '../../support/people.ts';
import type { Service } from '../../support/service.ts';

/** As long as a name may be, and without a place to break it. */
const LONG_NAME = `${'averyveryverylongname'.repeat(3)}`.slice(0, 63);
const LONG_PATH = `${'deep/'.repeat(12)}${'a-long-last-segment-of-a-path'.repeat(3)}`;

/** An organization with something on every page, always with the same names, and the addresses of all its pages. */
export async function fillPages(service: Service): Promise<{ admin: Person; addresses: string[] }> {
  const post = (path: string, body: object, status = 201) => ok(service.call('POST', path, { body }), status);
  const reader = await addPerson(service, { email: 'grace.hopper@example.com' });
  const longEmail = `${'a'.repeat(50)}.${'b'.repeat(12)}@${'c'.repeat(50)}.example.com`;
  await addPerson(service, { email: longEmail });
  for (const [name, environment] of [
    ['payments-dev', 'development'],
    ['payments', 'production'],
    [LONG_NAME, 'staging'],
  ] as const) {
    await post('/v1/vaults', { name, environment });
    for (const path of ['db/password', 'mail/key', LONG_PATH]) {
      await post(`/v1/vaults/${name}/secrets`, { path, value: `the value of ${path}`, environment });
    }
  }
  const group = await post('/v1/groups', { name: 'readers' });
  await post(`/v1/groups/${group.id}/members`, { user_id: reader.id });
  await post('/v1/vaults/payments-dev/members', { group: group.id, role: 'reader' });
  const statement = [{ effect: 'allow', action: ['secrets:read'], resource: ['vault/payments-dev/*'] }];
  await post('/v1/policies', { name: 'readers', document: { version: '2026-01-01', statement } });
  const machine = await post('/v1/app-connections', { name: 'checkout', vault: 'payments-dev', mtls_required: false });
  await post('/eaas/keys', { name: 'orders' });
  const admin = await addPerson(service, { role: 'admin', email: 'ada.lovelace@example.com' });
  const addresses = [
    ...['/', '/services', '/vaults', '/compare?vault=payments-dev&vault=payments', '/environments', '/keys'],
    ...['/hosts', '/clusters', '/people', '/groups', '/policies', '/connections', '/workloads', '/sign-on'],
    ...['/access', '/attack-paths', '/approvals', '/anomalies', '/audit', '/exporters', '/webhooks', '/jobs'],
    ...['/settings', '/plan', '/me'],
    ...['/vaults/payments', '/vaults/payments/secret/db/password', `/vaults/${LONG_NAME}`],
    ...[`/vaults/${LONG_NAME}/secret/${LONG_PATH}`, `/people/${reader.id}`, `/groups/${group.id}`],
    ...['/policies/readers', `/connections/${machine.id}`, '/keys/orders'],
  ];
  return { admin, addresses };
}

import { after, before, test } from 'node:test';
import { newIssuerKey, OutsideIssuer, signed } from '../support/external-issuer.ts';
import { exchange, OUTSIDE_ENV } from '../support/external-logins.ts';
import { addConnection } from '../support/machines.ts';
import { addTenant, ok, refused, type Tenant, uniqueName } from '../support/people.ts';
import { TestRegions } from '../support/regions.ts';
import { call, onBothDatabases, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';
import { addVault } from '../support/vaults.ts';

const NAMES = ['eu', 'ap'];
const SUBJECT = 'repo:acme/app:ref:refs/heads/main';
const issuer = await OutsideIssuer.start();
const key = await newIssuerKey('k', 'RS256');
after(() => issuer.close());

onBothDatabases('revoked tokens of machines', (database) => {
  // Without a trusted proxy: the regions themselves call from this machine, with certificates of their own.
  const { CV_OUTBOUND_ALLOW, CV_AUDIENCE } = OUTSIDE_ENV;
  const regions = new TestRegions(database, { CV_OUTBOUND_ALLOW, CV_AUDIENCE });
  let eu: Service;
  let tenant: Tenant;
  let vault: string;

  before(async () => {
    issuer.keys = [key.jwk];
    for (const name of NAMES) await regions.prepare(name);
    eu = await regions.start('eu', NAMES);
    await regions.start('ap', NAMES);
    tenant = await addTenant(eu, { plan: 'enterprise' });
    await until('eu has its lease', async () => {
      const options = { token: tenant.owner.token, body: { name: uniqueName('group') } };
      return (await eu.call('POST', '/v1/groups', options)).status === 201;
    });
    vault = await addVault(eu, {}, tenant.owner.token);
  });
  after(() => regions.close());

  /** A machine that has exchanged the token of its pipeline. */
  const machine = async () => {
    const { token } = tenant.owner;
    const { id, client_id } = await addConnection(eu, vault, {}, token);
    const body = {
      name: uniqueName('federation'),
      provider: 'custom',
      issuer: issuer.url,
      jwks_url: issuer.jwksUrl,
      subject_pattern: SUBJECT,
    };
    const federation = await ok(eu.call('POST', `/app-connections/${id}/federations`, { token, body }), 201);
    const now = Math.floor(eu.clock.now() / 1000);
    const claims = { iss: issuer.url, aud: CV_AUDIENCE, sub: SUBJECT, iat: now, exp: now + 600 };
    const { access_token } = await ok(exchange(eu, id, await signed(key, claims)));
    const at = (name: string) => call(regions.urlOf(name), 'GET', '/v1/vaults', { token: access_token });
    await until('ap forwards its requests', async () => (await at('ap')).status === 307);
    const remove = (path: string) => ok(eu.call('DELETE', path, { token }));
    return { at, remove, federation: `/app-connections/${id}/federations/${federation.id}`, client_id };
  };

  test('are refused everywhere once the federation that issued them is gone', async () => {
    const { at, remove, federation } = await machine();
    await remove(federation);
    await refused(at('eu'), 401, 'INVALID_TOKEN');
    await until('ap refuses it', async () => (await at('ap')).status === 401);
  });

  test('are refused everywhere once their connection is gone', async () => {
    const { at, remove, client_id } = await machine();
    await remove(`/v1/app-connections/${client_id}`);
    await refused(at('eu'), 401, 'INVALID_TOKEN');
    await until('ap refuses it', async () => (await at('ap')).status === 401);
  });
});

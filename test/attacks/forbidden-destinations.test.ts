import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addConnection } from '../support/machines.ts';
import { invalid, ok, refused, uniqueName } from '../support/people.ts';
import { type Service, startService } from '../support/service.ts';
import { TEST_CA } from '../support/test-keys.ts';
import { addVault } from '../support/vaults.ts';

/** Nobody aims an outgoing call at the inside of the network: a URL that can never be allowed is refused when it is configured. */

const NEVER = [
  'https://127.0.0.1/x',
  'https://localhost/x',
  'https://10.0.0.1/x',
  'https://192.168.1.1:8443/x',
  'https://169.254.169.254/latest/meta-data',
  'https://[::1]/x',
  'https://[fe80::1]/x',
  'https://0.0.0.0/x',
  'http://8.8.8.8/x',
  'http://siem.example.com/x',
];

/** Of methods the form of the URL is checked first. */
const ENCRYPTED = NEVER.filter((url) => url.startsWith('https://') && url.endsWith('/x'));

describe('a URL that can never be called is refused', () => {
  let service: Service;
  before(async () => {
    service = await startService('sqlite');
  });
  after(() => service.close());

  const refusedWithHint = async (send: (url: string) => ReturnType<Service['call']>, pointer: string) => {
    for (const url of NEVER) {
      await invalid(send(url), pointer);
      assert.match((await send(url)).text, /CV_OUTBOUND_ALLOW/, url);
    }
  };

  test('as a webhook', async () => {
    const body = (url: string) => ({ body: { url, events: ['anomaly.detected'] } });
    await refusedWithHint((url) => service.call('POST', '/webhooks', body(url)), '/body/url');
    const { id } = await ok(service.call('POST', '/webhooks', body('https://hooks.example.com/x')), 201);
    await refusedWithHint((url) => service.call('PATCH', `/webhooks/${id}`, { body: { url } }), '/body/url');
    await ok(service.call('PATCH', `/webhooks/${id}`, { body: { enabled: false } }));
  });

  test('as an exporter', async () => {
    const body = (endpoint: string, type = 'https_json') => ({ body: { name: uniqueName('siem'), type, endpoint } });
    const make = (endpoint: string, type?: string) => service.call('POST', '/v1/audit/exporters', body(endpoint, type));
    await refusedWithHint((url) => make(url), '/body/endpoint');
    for (const endpoint of [
      'tls://10.0.0.1:6514',
      'tls://[::1]:6514',
      'tcp://8.8.8.8:514',
      'tcp://siem.example.com:514',
    ])
      await invalid(make(endpoint, 'syslog'), '/body/endpoint');
    await ok(make('tls://siem.example.com:6514', 'syslog'), 201);
    const { id } = await ok(make('https://siem.example.com/x'), 201);
    const patch = (endpoint: string) => service.call('PATCH', `/v1/audit/exporters/${id}`, { body: { endpoint } });
    await refusedWithHint(patch, '/body/endpoint');
  });

  test('as the key set of a federation', async () => {
    const { id } = await addConnection(service, await addVault(service));
    const path = `/app-connections/${id}/federations`;
    const rules = {
      name: 'ci',
      provider: 'custom',
      issuer: 'https://ci.example',
      subject_pattern: 'repo:acme/app:main',
    };
    const make = (jwks_url: string) => service.call('POST', path, { body: { ...rules, jwks_url } });
    await refusedWithHint(make, '/body/jwks_url');
    const made = await ok(make('https://ci.example/keys'), 201);
    await refusedWithHint(
      (jwks_url) => service.call('PUT', `${path}/${made.id}`, { body: { jwks_url } }),
      '/body/jwks_url',
    );
  });

  test('as the issuer of a federation whose keys are where it says', async () => {
    const { id } = await addConnection(service, await addVault(service));
    const path = `/app-connections/${id}/federations`;
    const rules = { name: 'ci', provider: 'custom', subject_pattern: 'repo:acme/app:main' };
    const make = (issuer: string) => service.call('POST', path, { body: { ...rules, issuer } });
    await refusedWithHint(make, '/body/issuer');
    const made = await ok(make('https://ci.example'), 201);
    const change = (issuer: string) => service.call('PUT', `${path}/${made.id}`, { body: { issuer } });
    await refusedWithHint(change, '/body/issuer');
  });

  test('as a provider of sign-on', async () => {
    const name = uniqueName('idp');
    const make = (issuer: string) =>
      service.call('POST', '/auth/sso/providers', { body: { name, issuer, client_id: 'coffer' } });
    await refusedWithHint(make, '/body/issuer');
    await ok(make('https://idp.example'), 201);
    const change = (issuer: string) => service.call('PATCH', `/auth/sso/providers/${name}`, { body: { issuer } });
    await refusedWithHint(change, '/body/issuer');
  });

  test('as the issuer or the API server of a workload method', async () => {
    const { id } = await addConnection(service, await addVault(service));
    const { audience } = service.app.kernel.addresses;
    const methods = {
      oidc_generic: { expected_audience: audience, allowed_subjects: ['a'] },
      k8s_sa: { ca_cert_pem: TEST_CA, allowed_namespaces: ['a'], allowed_sa_names: ['a'] },
    };
    const make = (type: keyof typeof methods, config: object) => {
      const body = { name: uniqueName('method'), type, app_connection_id: id, config: { ...methods[type], ...config } };
      return service.call('POST', '/workload-identity/methods', { body });
    };
    for (const expected_issuer of ENCRYPTED)
      await invalid(make('oidc_generic', { expected_issuer }), '/body/config/expected_issuer');
    const made = await ok(make('oidc_generic', { expected_issuer: 'https://idp.example' }), 201);
    const config = { ...methods.oidc_generic, expected_issuer: ENCRYPTED[0] };
    await invalid(
      service.call('PUT', `/workload-identity/methods/${made.id}`, { body: { config } }),
      '/body/config/expected_issuer',
    );
    for (const url of ENCRYPTED) {
      await invalid(make('k8s_sa', { issuer: url }), '/body/config/issuer');
      const named = { issuer: 'https://kubernetes.default.svc', api_server_url: url };
      await invalid(make('k8s_sa', named), '/body/config/api_server_url');
    }
    await ok(make('k8s_sa', { issuer: 'https://kubernetes.default.svc' }), 201);
  });

  test('as the database whose password is to be rotated', async () => {
    const vault = await addVault(service);
    const value = (host: string) =>
      JSON.stringify({
        engine: 'postgres',
        host,
        port: 5432,
        database: 'app',
        username: 'app',
        password: 'a password',
      });
    const made = {
      path: 'db',
      type: 'database',
      value: value('10.0.0.1'),
      rotation: { interval_days: 30, backend: { kind: 'postgres_role' } },
    };
    await ok(service.call('POST', `/v1/vaults/${vault}/secrets`, { body: made }), 201);
    await refused(
      service.call('POST', `/v1/vaults/${vault}/secrets/db/rotate`, { body: {} }),
      422,
      'VALIDATION_FAILED',
    );
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../assembly/settings.ts';
import { Addresses } from './service-urls.ts';

function certificateUrl(env: Record<string, string>, tlsPort: number | null): string | null {
  const addresses = new Addresses(loadConfig(env));
  addresses.listening({ port: 7400, tlsPort });
  return addresses.certificateUrl;
}

test('a certificate can be presented at the TLS listener, or where the service itself is https', () => {
  assert.equal(certificateUrl({}, 7443), 'https://127.0.0.1:7443');
  assert.equal(certificateUrl({ CV_BASE_URL: 'https://coffer.example.com' }, 7443), 'https://coffer.example.com');
});

test('and nowhere over plain http', () => {
  assert.equal(certificateUrl({}, null), null);
});

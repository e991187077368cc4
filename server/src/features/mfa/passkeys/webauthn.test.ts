import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../../assembly/settings.ts';
import { CofferError } from '../../../kernel/base/errors.ts';
import { Addresses } from '../../../kernel/base/service-urls.ts';
import { relyingParty } from './webauthn.ts';

function relyingPartyWith(settings: Record<string, string>) {
  const config = loadConfig(settings);
  return relyingParty({ config, addresses: new Addresses(config) });
}

test('passkeys belong to the host of the base URL, and on one machine to localhost', () => {
  assert.deepEqual(relyingPartyWith({ CV_BASE_URL: 'https://coffer.example.com' }), {
    id: 'coffer.example.com',
    origin: 'https://coffer.example.com',
  });
  assert.deepEqual(relyingPartyWith({ CV_BASE_URL: 'http://localhost:7400' }), {
    id: 'localhost',
    origin: 'http://localhost:7400',
  });
  assert.deepEqual(relyingPartyWith({}), { id: 'localhost', origin: 'http://localhost:7400' });
});

test('an address that browsers refuse is explained', () => {
  const cases = [
    ['http://127.0.0.1:7400', /IP address such as 127\.0\.0\.1.*CV_BASE_URL/],
    ['https://10.0.0.1', /IP address.*CV_BASE_URL/],
    ['https://[::1]:7443', /IP address.*CV_BASE_URL/],
    ['http://vault.lan', /without https.*CV_BASE_URL/],
  ] as const;
  for (const [url, message] of cases) {
    assert.throws(
      () => relyingPartyWith({ CV_BASE_URL: url }),
      (error) => error instanceof CofferError && error.code === 'PASSKEYS_DISABLED' && message.test(error.message),
      url,
    );
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupedByService, serviceOf } from '../../console/src/services/group.ts';

const vault = (name: string, environment: string) => ({
  name,
  environment,
  secrets_count: 0,
  is_zero_knowledge: false,
});

test('the environment of a vault is no part of the name of its service', () => {
  const cases: [name: string, environment: string, service: string][] = [
    ['checkout-prod', 'production', 'checkout'],
    ['checkout-dev', 'development', 'checkout'],
    ['stg_checkout.api', 'staging', 'checkout-api'],
    ['Checkout-UAT', 'homologation', 'Checkout'],
    ['payments', 'production', 'payments'],
    // Another environment than its own is a part of the name.
    ['prod-mirror', 'development', 'prod-mirror'],
    ['prod', 'production', 'prod'],
  ];
  for (const [name, environment, service] of cases) assert.equal(serviceOf({ name, environment }), service, name);
});

test('services are sorted, with their vaults by environment', () => {
  const services = groupedByService([
    vault('shop-prod', 'production'),
    vault('shop-dev', 'development'),
    vault('shop-live', 'production'),
    vault('mail', 'staging'),
  ]);
  assert.deepEqual(
    services.map(({ name, vaults }) => [name, [...vaults].map(([each, own]) => [each, own.map((one) => one.name)])]),
    [
      ['mail', [['staging', ['mail']]]],
      [
        'shop',
        [
          ['production', ['shop-prod', 'shop-live']],
          ['development', ['shop-dev']],
        ],
      ],
    ],
  );
});

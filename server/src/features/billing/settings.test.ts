import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { loadConfig } from '../../assembly/settings.ts';
import { ConfigError } from '../../settings/config.ts';
import { stripeSettings } from './settings.ts';

const SECRET = `whsec_${'a1'.repeat(16)}`;
const STRIPE = { CV_STRIPE_WEBHOOK_SECRET: SECRET, CV_STRIPE_PRICES: 'price_1=professional, price_2=enterprise' };

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError, `${error}`);
    return error.problems;
  }
  return [];
}

test('billing has one or two secrets and knows which price is which plan', () => {
  const stripe = loadConfig({ ...STRIPE, CV_STRIPE_WEBHOOK_SECRET: `${SECRET}, ${SECRET}2` }).of(stripeSettings);
  assert.deepEqual(stripe?.secrets, [SECRET, `${SECRET}2`]);
  assert.deepEqual(
    [...(stripe?.plans ?? [])],
    [
      ['price_1', 'professional'],
      ['price_2', 'enterprise'],
    ],
  );
  const { CV_STRIPE_WEBHOOK_SECRET: __, ...prices } = STRIPE;
  const fromFile = loadConfig({ ...prices, CV_STRIPE_WEBHOOK_SECRET_FILE: '/run/secret' }).of(stripeSettings);
  assert.deepEqual(fromFile?.secrets, { file: '/run/secret' });
  const cases: [Record<string, string>, RegExp][] = [
    [prices, /^CV_STRIPE_PRICES has no effect here/],
    [{ CV_STRIPE_WEBHOOK_SECRET: SECRET }, /^CV_STRIPE_PRICES must be set too/],
    [{ ...STRIPE, CV_STRIPE_WEBHOOK_SECRET: 'short' }, /^CV_STRIPE_WEBHOOK_SECRET must be one or 2/],
    [{ ...STRIPE, CV_STRIPE_WEBHOOK_SECRET: `${SECRET},${SECRET},${SECRET}` }, /^CV_STRIPE_WEBHOOK_SECRET must be/],
    [{ ...STRIPE, CV_STRIPE_WEBHOOK_SECRET_FILE: 'f' }, /exclude each other/],
    [{ ...STRIPE, CV_STRIPE_API_URL: 'https://stripe.example' }, /^CV_STRIPE_API_URL has no effect here/],
    [{ ...STRIPE, CV_STRIPE_PRICES: 'price_1=free' }, /^CV_STRIPE_PRICES must be/],
    [{ ...STRIPE, CV_STRIPE_PRICES: 'price_1=starter,price_1=enterprise' }, /^CV_STRIPE_PRICES must be/],
  ];
  for (const [env, expected] of cases) {
    const problems = problemsOf(env);
    assert.equal(problems.length, 1, `${Object.keys(env)}: ${problems}`);
    assert.match(problems[0] ?? '', expected);
  }
});

test('a printed configuration shows no secret of Stripe', () => {
  const config = loadConfig({ ...STRIPE, CV_STRIPE_API_KEY: 'rk_MARKER' });
  for (const printed of [config, { ...config }, config.of(stripeSettings)]) {
    for (const text of [JSON.stringify(printed), inspect(printed, { depth: 9, showHidden: true })]) {
      assert.doesNotMatch(text, /whsec_|MARKER/);
    }
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { ConfigError, loadConfig } from './config.ts';

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError, `${error}`);
    return error.problems;
  }
  return [];
}

const SMTP = { CV_SMTP_URL: 'smtps://user:p%40ss@mail.example.com', CV_MAIL_FROM: 'coffer@example.com' };
const SECRET = `whsec_${'a1'.repeat(16)}`;
const STRIPE = { CV_STRIPE_WEBHOOK_SECRET: SECRET, CV_STRIPE_PRICES: 'price_1=professional, price_2=enterprise' };

test('a mail server has a host, a port, TLS and a password', () => {
  const { mail } = loadConfig(SMTP);
  assert.ok(mail.kind === 'smtp');
  const { auth, ...server } = mail.server;
  assert.deepEqual(server, { host: 'mail.example.com', port: 465, isTls: true });
  assert.deepEqual([auth?.user, auth?.pass], ['user', 'p@ss']);
  const plain = loadConfig({ ...SMTP, CV_SMTP_URL: 'smtp://[::1]:2525' }).mail;
  assert.ok(plain.kind === 'smtp');
  assert.deepEqual(plain.server, { host: '::1', port: 2525, isTls: false, auth: null });
  const wrong = [
    'mail.example.com',
    'http://x',
    'smtp://',
    'smtp://u@x',
    'smtp://x/path',
    'smtp://x?tls=no',
    'smtp://u:%zz@x',
  ];
  for (const CV_SMTP_URL of wrong) assert.match(problemsOf({ ...SMTP, CV_SMTP_URL })[0] ?? '', /^CV_SMTP_URL must be/);
  const noSenders = [
    'x',
    'a@b.c,d@e.f',
    'a@b c',
    '<a@b.c>',
    'A <a@b.c',
    'A <a@b.c> <d@e.f>',
    'A@b.c <d@e.f>',
    'A\r\nBcc: d@e.f <a@b.c>',
    `${'x'.repeat(65)} <a@b.c>`,
  ];
  for (const CV_MAIL_FROM of noSenders) {
    assert.match(problemsOf({ ...SMTP, CV_MAIL_FROM })[0] ?? '', /^CV_MAIL_FROM must be/);
  }
});

test('mail comes from an address, under the name that is given with it', () => {
  const senders = {
    'a@b.c': { name: 'Coffer', address: 'a@b.c' },
    'Geheimnisse für alle <a@b.c>': { name: 'Geheimnisse für alle', address: 'a@b.c' },
    '"Acme, Inc." <a@b.c>': { name: 'Acme, Inc.', address: 'a@b.c' },
  };
  for (const [CV_MAIL_FROM, sender] of Object.entries(senders)) {
    const { mail } = loadConfig({ ...SMTP, CV_MAIL_FROM });
    assert.deepEqual(mail.kind === 'off' ? null : mail.from, sender);
  }
});

test('sign-up needs a way to send mail unless only this machine can reach the service', () => {
  const on = { CV_SIGNUP: 'on' };
  assert.equal(loadConfig(on).isSignupOn, true);
  assert.equal(loadConfig({ ...on, CV_HOST: '::1' }).mail.kind, 'files');
  const elsewhere = [{ CV_HOST: '0.0.0.0' }, { CV_HOST: 'vault.lan' }, { CV_BASE_URL: 'https://coffer.example.com' }];
  for (const reached of elsewhere) {
    assert.match(problemsOf({ ...on, ...reached })[0] ?? '', /^CV_SIGNUP=on requires CV_SMTP_URL and CV_MAIL_FROM/);
    assert.equal(loadConfig(reached).mail.kind, 'off');
    assert.equal(loadConfig({ ...on, ...reached, ...SMTP }).isSignupOn, true);
  }
  const { CV_MAIL_FROM: _, ...withoutFrom } = SMTP;
  assert.match(problemsOf(withoutFrom)[0] ?? '', /^CV_MAIL_FROM must be set too/);
});

test('billing has one or two secrets and knows which price is which plan', () => {
  const { stripe } = loadConfig({ ...STRIPE, CV_STRIPE_WEBHOOK_SECRET: `${SECRET}, ${SECRET}2` });
  assert.deepEqual(stripe?.secrets, [SECRET, `${SECRET}2`]);
  assert.deepEqual(
    [...(stripe?.plans ?? [])],
    [
      ['price_1', 'professional'],
      ['price_2', 'enterprise'],
    ],
  );
  const { CV_STRIPE_WEBHOOK_SECRET: __, ...prices } = STRIPE;
  const fromFile = loadConfig({ ...prices, CV_STRIPE_WEBHOOK_SECRET_FILE: '/run/secret' }).stripe;
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

test('a printed configuration shows no password of the mail server and no secret of Stripe', () => {
  const config = loadConfig({ ...SMTP, ...STRIPE, CV_STRIPE_API_KEY: 'rk_MARKER' });
  for (const printed of [config, { ...config }, [config.mail, config.stripe]]) {
    for (const text of [JSON.stringify(printed), inspect(printed, { depth: 9, showHidden: true })]) {
      assert.doesNotMatch(text, /p@ss|whsec_|MARKER/);
    }
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { loadConfig } from '../../assembly/settings.ts';
import { mailSettings } from './settings.ts';

const SMTP = { CV_SMTP_URL: 'smtps://user:p%40ss@mail.example.com', CV_MAIL_FROM: 'coffer@example.com' };

test('a mail server has a host, a port, TLS and a password', () => {
  const { mail } = loadConfig(SMTP).of(mailSettings);
  assert.ok(mail.kind === 'smtp');
  const { auth, ...server } = mail.server;
  assert.deepEqual(server, { host: 'mail.example.com', port: 465, isTls: true });
  assert.deepEqual([auth?.user, auth?.pass], ['user', 'p@ss']);
  const plain = loadConfig({ ...SMTP, CV_SMTP_URL: 'smtp://[::1]:2525' }).of(mailSettings).mail;
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
  for (const CV_SMTP_URL of wrong)
    assert.throws(() => loadConfig({ ...SMTP, CV_SMTP_URL }), /^ConfigError: CV_SMTP_URL must be/);
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
    assert.throws(() => loadConfig({ ...SMTP, CV_MAIL_FROM }), /^ConfigError: CV_MAIL_FROM must be/);
  }
});

test('mail comes from an address, under the name that is given with it', () => {
  const senders = {
    'a@b.c': { name: 'Coffer', address: 'a@b.c' },
    'Geheimnisse für alle <a@b.c>': { name: 'Geheimnisse für alle', address: 'a@b.c' },
    '"Acme, Inc." <a@b.c>': { name: 'Acme, Inc.', address: 'a@b.c' },
  };
  for (const [CV_MAIL_FROM, sender] of Object.entries(senders)) {
    const { mail } = loadConfig({ ...SMTP, CV_MAIL_FROM }).of(mailSettings);
    assert.deepEqual(mail.kind === 'off' ? null : mail.from, sender);
  }
});

test('sign-up needs a way to send mail unless only this machine can reach the service', () => {
  const on = { CV_SIGNUP: 'on' };
  assert.equal(loadConfig(on).of(mailSettings).isSignupOn, true);
  assert.equal(loadConfig({ ...on, CV_HOST: '::1' }).of(mailSettings).mail.kind, 'files');
  const elsewhere = [{ CV_HOST: '0.0.0.0' }, { CV_HOST: 'vault.lan' }, { CV_BASE_URL: 'https://coffer.example.com' }];
  for (const reached of elsewhere) {
    assert.throws(
      () => loadConfig({ ...on, ...reached }),
      /^ConfigError: CV_SIGNUP=on requires CV_SMTP_URL and CV_MAIL_FROM/,
    );
    assert.equal(loadConfig(reached).of(mailSettings).mail.kind, 'off');
    assert.equal(loadConfig({ ...on, ...reached, ...SMTP }).of(mailSettings).isSignupOn, true);
  }
  const { CV_MAIL_FROM: _, ...withoutFrom } = SMTP;
  assert.throws(() => loadConfig(withoutFrom), /^ConfigError: CV_MAIL_FROM must be set too/);
});

test('a printed configuration shows no password of the mail server', () => {
  const config = loadConfig(SMTP);
  for (const printed of [config, { ...config }, config.of(mailSettings)]) {
    for (const text of [JSON.stringify(printed), inspect(printed, { depth: 9, showHidden: true })]) {
      assert.doesNotMatch(text, /p@ss/);
    }
  }
});

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type MailServer, startMailServer, textPart } from '../../../../test/support/mail-server.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { until } from '../../../../test/support/until.ts';
import { prepareMail, queueMail } from './outbox.ts';

const FROM = 'coffer@service.example';
const TOKEN = 'cv_verify_of-the-test';
const HOUR_MS = 3_600_000;

const message = (to: string) => ({ to, subject: 'Please verify ✓', paragraphs: ['Use this token:', { copy: TOKEN }] });

async function queue({ app: { kernel } }: Service, to: string): Promise<void> {
  const mail = await prepareMail(kernel, kernel.operatorTenantId, { kind: 'signup', message: message(to) });
  await kernel.database.transaction((tx) => queueMail(tx, mail));
}

const waiting = ({ app: { kernel } }: Service) =>
  kernel.database.read.selectFrom('outgoing_mail').selectAll().execute();

onBothDatabases('mail', (database) => {
  let server: MailServer;
  let service: Service;
  before(async () => {
    server = await startMailServer();
    service = await startService(database, { env: { CV_SMTP_URL: server.url, CV_MAIL_FROM: FROM } });
  });
  after(() => service.close());

  const receivedBy = (to: string) => server.received.filter((mail) => mail.to.includes(to));
  const sent = (to: string) => until(`the mail to ${to}`, () => receivedBy(to).length > 0);
  const isEmpty = () => until('an empty outbox', async () => (await waiting(service)).length === 0);
  /** Lets the wait before the next attempt pass, and the lease of an attempt that hangs. */
  const later = async (what: string, isDone: () => boolean) =>
    until(what, () => {
      service.clock.advance(HOUR_MS);
      return isDone();
    });
  const isSending = async () => {
    const now = service.clock.now();
    return (await waiting(service)).some(({ lease_until }) => Number(lease_until) > now);
  };

  test('a mail has text and HTML, is sealed while it waits, and is removed once it was sent', async () => {
    server.behaviour = 'hang';
    await queue(service, 'ann@example.com');
    const [row] = await waiting(service);
    assert.ok(row !== undefined && !Buffer.from(row.sealed_message).includes(TOKEN));
    assert.ok(!JSON.stringify(row).includes('ann@example.com'));
    server.behaviour = 'take';
    await later('the mail', () => receivedBy('ann@example.com').length > 0);
    await isEmpty();
    const [mail] = receivedBy('ann@example.com');
    assert.deepEqual([mail?.from, mail?.to], [FROM, ['ann@example.com']]);
    assert.match(mail?.source ?? '', /^From: Coffer <coffer@service\.example>$/m);
    assert.match(mail?.source ?? '', /Content-Type: text\/html/);
    assert.ok(textPart(mail?.source ?? '').includes(`    ${TOKEN}`));
    assert.ok(mail?.source.includes(`<${row.mail_id}@service.example>`));
  });

  test('an address with letters beyond ASCII is sent as it is, to a server that says it takes them', async () => {
    const to = 'jörg.müller@example.com';
    await queue(service, to);
    await sent(to);
    await isEmpty();
    const [mail] = receivedBy(to);
    assert.match(Buffer.from(mail?.source ?? '').toString('utf8'), /^To: <?jörg\.müller@example\.com>?\r?$/m);
  });

  test('a recipient that the server refuses for good is given up, and nothing about it is logged', async () => {
    server.behaviour = 'refuse-recipient';
    const before = server.tries;
    await queue(service, 'nobody@example.com');
    await isEmpty();
    assert.equal(server.tries, before + 1);
    assert.ok(service.logs.some((line) => line.includes('a mail was given up') && line.includes('550')));
    assert.ok(!service.logs.join('').includes('nobody@example.com') && !service.logs.join('').includes(TOKEN));
    server.behaviour = 'take';
  });

  for (const behaviour of ['try-later', 'drop'] as const) {
    test(`a mail is sent again after the server said ${behaviour}`, async () => {
      server.behaviour = behaviour;
      const to = `${behaviour}@example.com`;
      const before = server.tries;
      await queue(service, to);
      await until('a failed attempt', async () => (await waiting(service)).some(({ attempts }) => attempts > 0));
      assert.ok(server.tries > before);
      assert.equal(receivedBy(to).length, 0);
      server.behaviour = 'take';
      await until('the mail', async () => {
        // While it is sent its lease must not end, or it would be sent twice.
        if (!(await isSending())) service.clock.advance(HOUR_MS);
        return receivedBy(to).length > 0;
      });
      await isEmpty();
      assert.equal(receivedBy(to).length, 1);
    });
  }

  test('a server that hangs delays nothing but mail, and the mail arrives later', async () => {
    server.behaviour = 'hang';
    const before = server.tries;
    await queue(service, 'slow@example.com');
    await until('an attempt', () => server.tries > before);
    assert.equal((await service.call('GET', '/auth/me')).status, 200);
    server.behaviour = 'take';
    await later('the mail', () => receivedBy('slow@example.com').length > 0);
  });

  test('mail that waits is sent by the next start, also if the service ended in the middle of an attempt', async () => {
    const env = { CV_SMTP_URL: server.url, CV_MAIL_FROM: FROM };
    server.behaviour = 'hang';
    const first = await startService(database, { env, keepData: true });
    const before = server.tries;
    await queue(first, 'restart@example.com');
    await until('an attempt', () => server.tries > before);
    const databaseUrl = first.app.kernel.config.databaseUrl;
    await first.close();
    server.behaviour = 'take';
    const second = await startService(database, {
      env,
      dataDir: first.dataDir,
      at: Date.now() + HOUR_MS,
      ...(databaseUrl !== null && { databaseUrl }),
    });
    await sent('restart@example.com');
    await second.close();
  });

  test('a start that only this machine can reach writes mail to files that nobody else can read', async () => {
    const developed = await startService(database);
    await queue(developed, 'dev@example.com');
    const folder = join(developed.dataDir, 'mail');
    const written = () => (existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.eml')) : []);
    await until('a file', () => written().length > 0);
    const file = join(folder, written()[0] ?? '');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.ok(textPart(readFileSync(file, 'utf8')).includes(TOKEN));
    await until('a log line', () => developed.logs.some((line) => line.includes('a mail was written to a file')));
    assert.ok(!developed.logs.join('').includes(TOKEN));
    await developed.close();
  });
});

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { ModelProvider } from '../../../../test/support/model-provider.ts';
import { addColleague, addTenant, invalid, ok, refused, uniqueName } from '../../../../test/support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { until } from '../../../../test/support/until.ts';
import { addPolicy, addSecret, addVault, auditOf } from '../../../../test/support/vaults.ts';
import { HOUR_MS } from '../../kernel/base/clock.ts';
import { HIDDEN_MATCHES_PER_HOUR_MAX } from './stored-matches.ts';

onBothDatabases('stored values in a conversation', (database, { rule }) => {
  let service: Service;
  let model: ModelProvider;
  before(async () => {
    model = await ModelProvider.start();
    service = await startService(database, { env: model.settings('openai') });
  });
  after(async () => {
    await service.close();
    model.close();
  });
  beforeEach(() => {
    model.say = (asked) => asked;
  });

  const chat = (content: string, token: string) =>
    service.call('POST', '/copilot/chat', { token, body: { messages: [{ role: 'user', content }] } });
  const masked = async (content: string, token: string) => (await ok(chat(content, token))).redactions.secret ?? 0;

  /** A tenant with two vaults, and a member who may chat and read only one of them. */
  async function tenantWithMember() {
    const { id, owner } = await addTenant(service);
    const [open, hidden] = [await addVault(service, {}, owner.token), await addVault(service, {}, owner.token)];
    const member = await addColleague(service, id, 'member');
    const rights = [
      { action: ['copilot:chat', 'copilot:generate_code'], resource: ['copilot'] },
      { action: ['secrets:read'], resource: [`vault/${open}/**`] },
    ];
    await addPolicy(service, { user: member.id }, rights, owner.token);
    return { owner: owner.token, member: member.token, open, hidden };
  }

  test('nobody learns by guessing whether a short value is stored where they may not read', async () => {
    const { owner, member, open, hidden } = await tenantWithMember();
    await addSecret(service, hidden, 'pin', { value: '739105' }, owner);
    await addSecret(service, open, 'pin', { value: '628417' }, owner);
    for (const content of ['Is it 739105 ?', 'Is it 739106 ?']) {
      const { message, redactions } = await ok(chat(content, member));
      assert.deepEqual([message.content, redactions], [content, {}]);
    }
    model.say = () => '```\nsend("739105")\n```';
    const body = { language: 'python', prompt: 'send the pin' };
    await ok(service.call('POST', '/copilot/generate-code', { token: member, body }));
    model.say = (asked) => asked;
    assert.equal(await masked('Is it 628417 ?', member), 1, 'whoever may read it knows it already');
    assert.equal(await masked('Is it 739105 ?', owner), 1);
  });

  rule(
    'a caller cannot have many values confirmed that they may not read; for values that they may read there is no limit',
    async () => {
      const { owner, member, hidden } = await tenantWithMember();
      const values = Array.from({ length: HIDDEN_MATCHES_PER_HOUR_MAX + 2 }, () => uniqueName('a hidden lantern'));
      for (const [at, value] of values.entries()) await addSecret(service, hidden, `v${at}`, { value }, owner);
      assert.equal(await masked(values.slice(0, 2).join('\n\n'), member), 2);
      for (const value of values.slice(2, -2)) assert.equal(await masked(`It is "${value}".`, member), 1);
      model.received.length = 0;
      for (const value of values.slice(-2)) {
        const error = await refused(chat(`It is "${value}".`, member), 429, 'RATE_LIMIT_EXCEEDED');
        assert.match(error.message, /may not read.*try again later/);
      }
      assert.equal(model.received.length, 0, 'nothing was sent');
      assert.equal(await masked('A harmless question.', member), 0);
      const entries = async () => (await auditOf(service, 'action=copilot:chat', owner)) as Answer['body'][];
      await until('the refusals', async () => (await entries()).filter(({ status }) => status === 429).length === 2);
      for (const value of values) assert.equal(await masked(`It is "${value}".`, owner), 1);
      service.clock.advance(HOUR_MS);
      assert.equal(await masked(`It is "${values[0]}".`, member), 1);
    },
  );

  rule('a conversation with more different words than can be compared is refused', async () => {
    const { owner } = await tenantWithMember();
    const letters = () => Array.from({ length: 8000 }, () => String.fromCharCode(97 + randomInt(26))).join(' ');
    const body = () => ({ messages: [letters(), letters()].map((content) => ({ role: 'user', content })) });
    await ok(service.call('POST', '/copilot/chat', { token: owner, body: body() }));
    const reply = `${letters()} ${letters()}`;
    model.say = () => reply;
    await invalid(service.call('POST', '/copilot/chat', { token: owner, body: body() }), '/body');
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { unlinkSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';
import { promptsOf } from '../../../../evaluate/detection/prompts.ts';
import { awsEvent, ModelProvider } from '../../../../test/support/model-provider.ts';
import { ok, refused } from '../../../../test/support/people.ts';
import {
  type Answer,
  ARE_RULES_ON_BOTH,
  DATABASES,
  onSqliteAtLanding,
  type Service,
  startService,
} from '../../../../test/support/service.ts';
import { until } from '../../../../test/support/until.ts';
import { auditOf } from '../../../../test/support/vaults.ts';
import { REPLY_LENGTH_MAX } from './schemas.ts';
import { COPILOT_PROVIDERS, type CopilotProvider } from './settings.ts';

const EVENTS = { accept: 'text/event-stream' };
const ask = (content: string) => ({ messages: [{ role: 'user', content }] });
/** Enough for thousands of requests in one test. */
const MANY = { CV_COPILOT_REQUESTS_PER_DAY: '100000' };

/** The events of a stream, by name. */
function eventsOf(text: string): [name: string, data: Answer['body']][] {
  return text
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':'))
    .map((event) => {
      const [, name = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
      return [name, JSON.parse(data)];
    });
}

const contentOf = (text: string) =>
  eventsOf(text)
    .filter(([name]) => name === 'delta')
    .map(([, { content }]) => content)
    .join('');

/** Answers a streaming request of each provider with the beginning of an answer, and then with whatever `then` does. */
const BEGINNINGS: Record<CopilotProvider, { type: string; bytes: string | Buffer }> = {
  openai: { type: 'text/event-stream', bytes: 'data: {"choices":[{"delta":{"content":"half of"}}]}\n\n' },
  'azure-openai': { type: 'text/event-stream', bytes: 'data: {"choices":[{"delta":{"content":"half of"}}]}\n\n' },
  bedrock: {
    type: 'application/vnd.amazon.eventstream',
    bytes: awsEvent('contentBlockDelta', { delta: { text: 'half of' } }),
  },
  ollama: { type: 'application/x-ndjson', bytes: '{"message":{"content":"half of"},"done":false}\n' },
};

for (const kind of COPILOT_PROVIDERS) {
  onSqliteAtLanding(`the assistant by ${kind}`, (database) => {
    let service: Service;
    let model: ModelProvider;
    let keyFile: string | undefined;
    before(async () => {
      model = await ModelProvider.start();
      const settings = model.settings(kind);
      keyFile = settings['CV_COPILOT_API_KEY_FILE'];
      service = await startService(database, { env: { ...settings, ...MANY } });
    });
    after(async () => {
      await service.close();
      model.close();
    });
    beforeEach(() => {
      model.received.length = 0;
      model.say = () => 'All is well.';
      model.instead = null;
      model.partLength = 7;
    });
    const chat = (content: string, headers: Record<string, string> = {}) =>
      service.call('POST', '/copilot/chat', { body: ask(content), headers });
    const begin = (response: ServerResponse) => {
      const { type, bytes } = BEGINNINGS[kind];
      response.writeHead(200, { 'content-type': type }).write(bytes);
    };

    test('answers, whole and in parts, and sends what the provider expects', async () => {
      model.say = (asked) => `Answer to ${asked}: “åß∂ 日本”.`;
      assert.equal((await ok(chat('one'))).message.content, 'Answer to one: “åß∂ 日本”.');
      const streamed = await chat('two', EVENTS);
      assert.equal(streamed.headers.get('content-type'), 'text/event-stream');
      assert.equal(contentOf(streamed.text), 'Answer to two: “åß∂ 日本”.');
      assert.deepEqual(eventsOf(streamed.text).at(-1), ['done', { redactions: {} }]);
      const whole = await chat('three', { accept: 'application/json, text/event-stream;q=0' });
      assert.equal(whole.body.message.content, 'Answer to three: “åß∂ 日本”.');
    });

    test('masks a streamed answer wherever it is cut', async () => {
      const key = `AKIA${'Q3EGRIVCZ7AXO4LM'}`;
      const prose = 'This sentence only makes the answer longer, so that parts are released before its end.\n\n'.repeat(
        12,
      );
      model.say = () => `${prose}\nThe key is ${key}, the password is Winter2026!x and the host 10.20.30.40.\n${prose}`;
      for (const partLength of [1, 3, 17, 400]) {
        model.partLength = partLength;
        const { text } = await chat('go on', EVENTS);
        const content = contentOf(text);
        assert.ok(
          !text.includes(key) &&
            !content.includes(key) &&
            !content.includes('Winter2026') &&
            !content.includes('10.20'),
        );
        assert.equal(
          content,
          `${prose}\nThe key is [SECRET_1], the password is [PASSWORD_1] and the host [INTERNAL_ADDRESS_1].\n${prose}`,
        );
        assert.deepEqual(eventsOf(text).at(-1)?.[1].redactions, { secret: 1, password: 1, internal_address: 1 });
        if (partLength > 1) assert.ok(eventsOf(text).length > 3, 'it arrives in parts');
      }
    });

    test('cuts a reply that is too long, and says so', async () => {
      const key = `AKIA${'Q3EGRIVCZ7AXO4LM'}`;
      const paragraph = `${'This sentence only makes the answer longer. '.repeat(6)}\n\n`;
      const before = paragraph.repeat(Math.floor(REPLY_LENGTH_MAX / paragraph.length));
      const filled = before + 'x'.repeat(REPLY_LENGTH_MAX - before.length - 10);
      model.say = () => `${filled.slice(0, -1)} ${key} and more`;
      model.partLength = 9;
      const whole = (await ok(chat('go on'))).message.content;
      const streamed = await chat('go on', EVENTS);
      for (const content of [whole, contentOf(streamed.text)]) {
        assert.match(content, /\[The reply is longer than 32768 characters and is cut off here\.\]$/);
        assert.ok(content.startsWith(paragraph.repeat(50)) && content.length < REPLY_LENGTH_MAX + 100);
        assert.ok(!content.includes('AKIA'));
      }
      assert.equal(eventsOf(streamed.text).at(-1)?.[0], 'done');
      const body = { language: 'go', prompt: 'read a secret' };
      const error = await refused(service.call('POST', '/copilot/generate-code', { body }), 503, 'COPILOT_UNAVAILABLE');
      assert.match(error.message, /longer than 32768 characters: ask for less/);
      model.say = () => before;
      assert.equal((await ok(chat('go on'))).message.content, before);
    });

    test('says that it is unavailable if the provider fails, without its text', async () => {
      const failures: [string, (response: ServerResponse) => void][] = [
        ['an error', (response) => response.writeHead(500).end('{"error":"leaked words"}')],
        ['a refusal', (response) => response.writeHead(401).end('{"error":"leaked words"}')],
        ['its own limit', (response) => response.writeHead(429, { 'retry-after': '7' }).end()],
        ['a redirect', (response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()],
        ['no JSON', (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('leaked words')],
        ['half of JSON', (response) => response.writeHead(200).end('{"choices":[{"mess')],
        ['JSON without a text', (response) => response.writeHead(200).end('{"choices":[],"message":null,"output":[]}')],
        [
          'text that is none',
          (response) => response.writeHead(200).end('{"choices":[{"message":{"content":7}}],"message":{"content":{}}}'),
        ],
        ['a huge answer', (response) => response.writeHead(200).end(Buffer.alloc(2_000_000, 'x'))],
        ['a compressed answer', (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x')],
        ['a cut connection', (response) => response.destroy()],
        [
          'a cut answer',
          (response) =>
            void response.writeHead(200, { 'content-length': '1000' }).write('{"a', () => response.destroy()),
        ],
      ];
      for (const [name, answer] of failures) {
        model.instead = (_, response) => answer(response);
        const error = await refused(chat('hello'), 503, 'COPILOT_UNAVAILABLE');
        assert.doesNotMatch(JSON.stringify(error), /leaked|127\.0\.0\.1/, name);
      }
      assert.doesNotMatch(service.logs.join(''), /leaked words/);
      model.instead = null;
      await ok(chat('hello'));
    });

    test('gives up a provider that does not answer, or does not go on', async () => {
      const hasty = await startService(database, { env: { ...model.settings(kind), CV_COPILOT_TIMEOUT_SECONDS: '1' } });
      try {
        const hastyChat = (headers: Record<string, string> = {}) =>
          hasty.call('POST', '/copilot/chat', { body: ask('hello'), headers });
        model.instead = () => {};
        const { message } = await refused(hastyChat(), 503, 'COPILOT_UNAVAILABLE');
        assert.match(message, /did not respond in time/);
        model.instead = (_, response) => begin(response);
        const { text } = await hastyChat(EVENTS);
        assert.equal(eventsOf(text).at(-1)?.[0], 'error');
      } finally {
        await hasty.close();
      }
    });

    test('ends a stream that is cut, damaged or endless with an error', async () => {
      const endings: ((response: ServerResponse) => void)[] = [
        (response) => response.end(),
        (response) => response.destroy(),
        (response) => response.end('data: {"choices":\n\n{"message"\n'),
        (response) => response.end(Buffer.alloc(600_000, 'x')),
      ];
      for (const end of endings) {
        model.instead = (_, response) => {
          begin(response);
          setTimeout(() => end(response), 20);
        };
        const { status, text } = await chat('hello', EVENTS);
        assert.equal(status, 200);
        const [name, data] = eventsOf(text).at(-1) ?? [];
        assert.deepEqual([name, data?.code], ['error', 'COPILOT_UNAVAILABLE']);
      }
      const ends = await auditOf(service, 'action=copilot:chat_end');
      assert.ok(ends.some(({ details }) => details.outcome === 'unavailable' && details.reply_bytes > 0));
    });

    test('ends its request when the caller leaves, before the answer and in the middle of it', async () => {
      for (const accept of ['application/json', EVENTS.accept]) {
        let ended = false;
        model.instead = (_, response) => {
          response.once('close', () => (ended = true));
          if (accept === EVENTS.accept) begin(response);
        };
        const body = JSON.stringify(ask('hello'));
        const headers = { authorization: `Bearer ${service.adminToken}`, 'content-type': 'application/json', accept };
        const calling = httpRequest(`${service.url}/copilot/chat`, { method: 'POST', headers });
        calling.on('error', () => {});
        calling.end(body);
        if (accept === EVENTS.accept) await once(calling, 'response');
        await until('the provider is not asked', () => model.received.length > 0);
        calling.destroy();
        await until('the request to the provider goes on', () => ended);
        model.received.length = 0;
      }
      const cancelled = /^cv_copilot_requests_total\{outcome="cancelled"\} 2$/m;
      await until('it was not cancelled', async () => cancelled.test(await service.app.kernel.metrics.text()));
    });

    if (kind !== 'ollama') {
      test('reads its key for each request: a wrong one is refused by the provider, a missing one by us', async () => {
        const [file, key] = [keyFile ?? '', model.key];
        writeFileSync(file, 'another key');
        await refused(chat('hello'), 503, 'COPILOT_UNAVAILABLE');
        unlinkSync(file);
        model.received.length = 0;
        const { message } = await refused(chat('hello'), 503, 'COPILOT_UNAVAILABLE');
        assert.match(message, /the file with its key cannot be read/);
        assert.equal(model.received.length, 0);
        writeFileSync(file, key);
        await ok(chat('hello'));
        assert.doesNotMatch(service.logs.join(''), new RegExp(key));
      });
    }
  });
}

describe('every byte that leaves', () => {
  const all = promptsOf(41);
  for (const [index, kind] of COPILOT_PROVIDERS.entries()) {
    // What is masked does not depend on the provider, so at landing each gets its share of the prompts.
    const prompts = all.filter((_, at) => ARE_RULES_ON_BOTH || at % COPILOT_PROVIDERS.length === index);
    test(`is masked at the other end of the socket: prompts to ${kind}, whose answers repeat them`, async () => {
      const model = await ModelProvider.start();
      const service = await startService(DATABASES[0] ?? 'sqlite', { env: { ...model.settings(kind), ...MANY } });
      try {
        for (const [at, { text, planted, kind: what }] of prompts.entries()) {
          // The model says what was sent, and what it was not sent: the answer is masked by itself.
          model.say = (asked) => `${asked}\n\nas in:\n\n${text}`;
          model.partLength = 1 + (at % 40);
          const answer = await service.call('POST', '/copilot/chat', {
            body: ask(text),
            headers: at % 2 === 0 ? EVENTS : {},
          });
          assert.equal(answer.status, 200);
          const sent = model.takeBytes();
          const shown = at % 2 === 0 ? contentOf(answer.text) : answer.body.message.content;
          const spelled = planted.flatMap((piece) => [piece, JSON.stringify(piece).slice(1, -1)]);
          const isLeft = spelled.some((piece) => sent.includes(piece) || shown.includes(piece));
          assert.ok(!isLeft, `${what} left: prompt ${at}`);
        }
      } finally {
        await service.close();
        model.close();
      }
    });
  }
});

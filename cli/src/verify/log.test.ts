import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, test } from 'node:test';
import type { Checkpoint } from './checkpoints.ts';
import { ChainCheck, GENESIS_HASH, type Link } from './log.ts';

const TENANT = 'tenant_1';
const FAR = 1_800_000_000_000_000;

const entry = (action: string, details: object, kind = 'system') =>
  JSON.stringify([
    'audit_1',
    1,
    kind,
    'operator',
    '',
    '',
    action,
    'x',
    '',
    'allow',
    200,
    '',
    '',
    '',
    '',
    JSON.stringify(details),
  ]);

function linked(...entries: [seq: number, text: string][]): Link[] {
  let last = GENESIS_HASH;
  return entries.map(([seq, text]) => {
    last = hash('sha256', `${last}\n${TENANT}\n${seq}\n${text}`, 'hex');
    return { seq, hash: last, texts: [text], purgedBy: null };
  });
}

function problemsOf(links: readonly Link[], checkpoints: readonly Partial<Checkpoint>[] = []): string[] {
  const told: string[] = [];
  const start = { tenantId: TENANT, firstSeq: 1, previousHash: GENESIS_HASH };
  const chain = new ChainCheck(start, checkpoints as Checkpoint[], (where, what) => told.push(`${where} ${what}`));
  for (const link of links) chain.add(link);
  chain.end(null);
  return told;
}

describe('a chain that was restored', () => {
  const before = [1, entry('a', {})] as [number, string];
  const restored = (resumes_after: unknown) => entry('server:restore', { resumes_after });

  test('goes on at a higher number', () => {
    assert.deepEqual(problemsOf(linked(before, [FAR, restored(1)], [FAR + 1, entry('b', {})])), []);
  });

  test('says exactly where it stood, and nobody but the operator says so', () => {
    for (const text of [
      restored(2),
      restored(0),
      restored('1'),
      restored(null),
      entry('server:start', { resumes_after: 1 }),
      entry('server:restore', { resumes_after: 1 }, 'user'),
      '[]',
      'null',
      '',
      '{',
      '["","","system","","","","server:restore","","","","","","","","","{"]',
    ]) {
      assert.match(problemsOf(linked(before, [FAR, text]))[0] ?? '', /^entry 2 and all up to \d+ are missing/, text);
    }
  });

  test('is not the one that was linked if its entry is changed', () => {
    const links = linked(before, [FAR, restored(1)]);
    const changed = links.map((link) => ({ ...link, texts: link.texts.map((text) => text.replace('200', '201')) }));
    assert.match(problemsOf(changed).join(), new RegExp(`entry ${FAR} was changed`));
  });

  test('has lost what a checkpoint between covers', () => {
    const problems = problemsOf(linked(before, [FAR, restored(1)]), [{ id: 7, seq: 5, hash: 'x' }]);
    assert.deepEqual(problems, ['entry 5 is missing, although checkpoint 7 covers it: an older backup was restored']);
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busyTree, type CpuProfile, frameTree, groupOf, timesByFunction, timesByGroup } from './profile-times.ts';

const frame = (functionName: string, url = '', lineNumber = 0) => ({ functionName, url, lineNumber });
const AUDIT = 'file:///somewhere/server/src/kernel/audit/entry/entry.ts';

/** main → append → append → (native) copy; and some idling. */
const PROFILE: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 6] },
    { id: 2, callFrame: frame('main<T>', 'node:internal/process/task_queues', 9), children: [3] },
    { id: 3, callFrame: frame('append', AUDIT, 4), children: [4] },
    { id: 4, callFrame: frame('append', AUDIT, 4), children: [5] },
    { id: 5, callFrame: frame('copy') },
    { id: 6, callFrame: frame('(idle)') },
  ],
  startTime: 0,
  endTime: 1000,
  samples: [2, 3, 4, 5, 6, 6],
  timeDeltas: [5, 10, 20, 40, 80, 500],
};

test('each sample has the time until the next one, and callers have that of what they call', () => {
  const root = frameTree(PROFILE);
  assert.equal(root.total, 650);
  const busy = busyTree(root);
  assert.equal(busy.total, 150);
  const times = timesByFunction(busy);
  assert.deepEqual(times, [
    { name: 'copy', self: 80, inclusive: 80 },
    { name: 'append (kernel/audit/entry/entry.ts:5)', self: 60, inclusive: 140 },
    { name: 'main<T> (node:internal/process/task_queues:10)', self: 10, inclusive: 150 },
  ]);
});

test('what is native counts for the caller, beside it', () => {
  assert.deepEqual(timesByGroup(busyTree(frameTree(PROFILE))), [
    { name: 'kernel/audit (native)', self: 80, inclusive: 80 },
    { name: 'kernel/audit', self: 60, inclusive: 140 },
    { name: 'node: tasks and timers', self: 10, inclusive: 150 },
  ]);
});

test('functions belong to a room of the house, a package or a part of Node', () => {
  const cases: [string, string][] = [
    ['file:///x/server/src/kernel/request/pipeline.ts', 'kernel/request'],
    ['file:///x/server/src/kernel/http/server.ts', 'kernel/http'],
    ['file:///x/server/src/features/secrets/store.ts', 'features/secrets'],
    ['file:///x/server/src/serve.ts', 'server/src'],
    ['file:///x/node_modules/find-my-way/index.js', 'find-my-way'],
    ['file:///x/node_modules/a/node_modules/@scope/b/index.js', '@scope/b'],
    ['node:_http_outgoing', 'node:http'],
    ['node:internal/stream_base_commons', 'node:net'],
    ['node:internal/streams/writable', 'node:stream'],
    ['node:internal/crypto/cipher', 'node:crypto'],
    ['file:///x/bench/profiled-process.ts', 'other'],
  ];
  for (const [url, group] of cases) assert.equal(groupOf(frame('f', url), ''), group, url);
  assert.equal(groupOf(frame('(garbage collector)'), 'kernel'), 'garbage collector');
});

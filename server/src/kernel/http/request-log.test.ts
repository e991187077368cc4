import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../observability/log.ts';
import { RequestLog } from './request-log.ts';

const REQUEST = { request_id: 'req_1', method: 'GET', route: '/v1/vaults', address: '192.0.2.1' };

function logging(slowRequestMs: number) {
  const lines: string[] = [];
  const log = createLogger({ level: 'info', format: 'json', stream: { write: (line) => void lines.push(line) } });
  return { lines, requests: new RequestLog({ slowRequestMs, isAccessLogOn: false }, log) };
}

test('a request is slow if it takes longer than the limit, and not if it takes as long', () => {
  const { lines, requests } = logging(1000);
  requests.answered(REQUEST, 200, 1000);
  assert.deepEqual(lines, []);
  requests.answered(REQUEST, 200, 1000.6);
  const { time: _, ...line } = JSON.parse(String(lines[0]));
  assert.deepEqual(line, { level: 'warn', ...REQUEST, status: 200, duration_ms: 1001, msg: 'a request was slow' });
});

test('with a limit of 0 no request is slow', () => {
  const { lines, requests } = logging(0);
  requests.answered(REQUEST, 200, 1e9);
  assert.deepEqual(lines, []);
});

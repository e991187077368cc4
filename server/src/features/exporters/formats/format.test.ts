import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ExportedEntry, fitted } from '../exported-entry.ts';
import { FORMATS } from '../schemas.ts';
import { FRAME_BYTES_MAX, syslogFrame } from '../transports/syslog-frame.ts';
import { activityOf } from './activity.ts';
import { formatted } from './format.ts';

const VERSION = '1.2.3';

const HOSTILE = `a"b'c\\d]e|f=g\nh\r\ni\u0000jé漢𝔘<14>1 - - - - - forged`;
const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.constant(HOSTILE));

const entries: fc.Arbitrary<ExportedEntry> = fc.record({
  id: fc.stringMatching(/^audit_[0-9a-z]{10}$/),
  tenant_id: fc.stringMatching(/^tenant_[0-9a-z]{10}$/),
  timestamp: fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((date) => date.toISOString()),
  actor: fc.record({ kind: fc.constantFrom('user', 'app_connection', 'system'), id: text, name: text, key: text }),
  action: fc.oneof(fc.constantFrom('auth:login', 'secrets:read', 'vault_created', 'users:delete'), text),
  resource: text,
  vault: fc.option(text),
  decision: fc.constantFrom('allow', 'deny', 'error'),
  status: fc.integer({ min: 100, max: 599 }),
  ip: fc.constantFrom('', '192.0.2.1', '2001:db8::1'),
  user_agent: text,
  request_id: text,
  reason: fc.option(text),
  details: fc.dictionary(text, text, { maxKeys: 3, noNullPrototype: true }),
  seq: fc.option(fc.nat()),
  hash: fc.option(fc.stringMatching(/^[0-9a-f]{64}$/)),
}) as fc.Arbitrary<ExportedEntry>;

test('an entry is whole in every format of JSON, whatever its texts are', () => {
  fc.assert(
    fc.property(entries, (entry) => {
      for (const format of ['native', 'ecs', 'ocsf'] as const) {
        const back = JSON.parse(JSON.stringify(formatted(format, entry, VERSION)));
        const whole = { native: back, ecs: back.coffer?.audit, ocsf: back.unmapped?.coffer }[format];
        assert.deepEqual(whole, JSON.parse(JSON.stringify(entry)), format);
      }
    }),
  );
});

/** A reader of CEF: header fields end at a bare bar, and a value ends before the next bare ` key=`. */
function parseCef(line: string): { header: string[]; extension: Map<string, string> } {
  const header: string[] = [];
  let at = 0;
  while (header.length < 7) {
    let field = '';
    for (; line[at] !== '|'; at++) {
      if (line[at] === '\\') at++;
      field += line[at];
    }
    header.push(field);
    at++;
  }
  const extension = new Map<string, string>();
  const rest = line.slice(at);
  const starts = [...rest.matchAll(/(?:^| )([A-Za-z0-9]+)=/g)].filter(({ index, 0: all }) => {
    const before = rest.slice(0, index + all.length - 1);
    return (/\\+$/.exec(before)?.[0].length ?? 0) % 2 === 0;
  });
  for (const [i, { index, 0: all, 1: key }] of starts.entries()) {
    const value = rest.slice(index + all.length, starts[i + 1]?.index ?? rest.length);
    extension.set(
      String(key),
      value.replace(/\\([\\=nr])/g, (_, c: string) => ({ n: '\n', r: '\r' })[c] ?? c),
    );
  }
  return { header, extension };
}

test('CEF can be parsed back, and no text adds a field or a line', () => {
  fc.assert(
    fc.property(entries, (entry) => {
      const line = formatted('cef', entry, VERSION) as string;
      assert.doesNotMatch(line, /[\r\n]/);
      const { header, extension } = parseCef(line);
      assert.deepEqual(header.slice(0, 4), ['CEF:0', 'Coffer', 'Coffer', VERSION]);
      assert.equal(header[4], entry.action.replace(/[\r\n]/g, ' '));
      const expected = {
        externalId: entry.id,
        suid: entry.actor.id,
        suser: entry.actor.name,
        cs1: entry.resource,
        cs2: entry.vault ?? '',
        reason: entry.reason ?? '',
        requestClientApplication: entry.user_agent,
        flexString1: entry.tenant_id,
      };
      for (const [key, value] of Object.entries(expected)) assert.equal(extension.get(key) ?? '', value, key);
      assert.deepEqual(JSON.parse(extension.get('cs6') ?? '{}'), entry.details);
    }),
  );
});

/** A reader of octet-counted frames, as RFC 6587 has them. */
function parseFrames(bytes: Buffer): string[] {
  const frames: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(' ', at);
    const length = Number(bytes.subarray(at, space).toString('ascii'));
    frames.push(bytes.subarray(space + 1, space + 1 + length).toString('utf8'));
    at = space + 1 + length;
  }
  return frames;
}

test('syslog frames are as many as entries, and each holds its own', () => {
  fc.assert(
    fc.property(fc.array(entries, { minLength: 1, maxLength: 5 }), (batch) => {
      const frames = parseFrames(Buffer.concat(batch.map((one) => syslogFrame(one, JSON.stringify(one), VERSION))));
      assert.equal(frames.length, batch.length);
      for (const [i, frame] of frames.entries()) {
        const match = /^<(\d+)>1 (\S+) (\S+) coffer - (\S{1,32}) \[origin [^\]]+\]\[meta sequenceId="(\d+)"\] /.exec(
          frame,
        );
        assert.ok(match !== null, frame);
        assert.deepEqual(JSON.parse(frame.slice(match[0].length)), JSON.parse(JSON.stringify(batch[i])));
        assert.ok(Number(match[5]) >= 1);
      }
    }),
  );
});

test('an entry that is too long is shortened and marked, and keeps its id, place and time', () => {
  const long = 'é'.repeat(5000);
  const entry: ExportedEntry = {
    id: 'audit_1',
    tenant_id: 'tenant_1',
    timestamp: '2026-01-01T00:00:00.000Z',
    actor: { kind: 'user', id: 'user_1', name: long, key: long },
    action: 'secrets:read',
    resource: long,
    vault: null,
    decision: 'deny',
    status: 403,
    ip: '',
    user_agent: long,
    request_id: 'req_1',
    reason: long,
    details: { long },
    rows: [{ table: 't', row: long, digest: null, before: null }],
    seq: 7,
    hash: 'ab',
  };
  for (const format of FORMATS) {
    const encoded = (one: ExportedEntry) => {
      const made = formatted(format, one, VERSION);
      const frame = syslogFrame(one, typeof made === 'string' ? made : JSON.stringify(made), VERSION);
      return { short: one, bytes: frame.length };
    };
    const { short, bytes } = fitted(entry, FRAME_BYTES_MAX, encoded);
    assert.ok(bytes <= FRAME_BYTES_MAX, format);
    assert.equal(short.truncated, true);
    assert.deepEqual([short.id, short.seq, short.hash, short.timestamp], [entry.id, 7, 'ab', entry.timestamp]);
  }
  assert.equal(fitted(entry, 1_000_000, (one) => ({ one, bytes: 10 })).one, entry, 'a short one is left as it is');
});

test('an activity is told from the action', () => {
  const expected = {
    'auth:login': 'login',
    'auth:logout': 'logout',
    'secrets:read': 'read',
    'secrets:list_collisions': 'read',
    'groups:add_member': 'create',
    vault_member_removed: 'delete',
    connection_rotated: 'update',
    'audit:tampering': 'other',
  };
  for (const [action, activity] of Object.entries(expected)) assert.equal(activityOf(action), activity, action);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '../../base/ids.ts';
import {
  cleanActor,
  cleanReason,
  cleanText,
  cleanUserAgent,
  detailsText,
  ENTRY_CHARS_MAX,
  entryText,
  vaultOf,
} from './entry.ts';

test('an entry is bounded, whatever a caller sends', () => {
  const long = 'x'.repeat(100_000);
  const resource = cleanText(`vault/${long}`);
  const id = newId('audit', 1_794_715_860_000);
  const text = entryText({
    tenant_id: id,
    id,
    at: 1_794_715_860_000,
    actor_kind: 'app_connection',
    actor_id: id,
    actor_name: cleanActor(long),
    actor_key: id,
    action: 'workload_methods:read_metadata',
    resource,
    vault: vaultOf(resource),
    decision: 'error',
    status: 403,
    ip: 'ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255',
    user_agent: cleanUserAgent(long),
    request_id: id,
    reason: cleanReason(long),
    details: detailsText({ fits: 'x'.repeat(1000), also: long, third: long }),
  });
  assert.ok(text.length <= ENTRY_CHARS_MAX, String(text.length));
  assert.equal(detailsText({ list: Array.from({ length: 1000 }, () => 'item') }), '{"truncated":true}');
});

test('details are cleaned, wherever they have something unclean', () => {
  const clean = { vault: 'a', list: ['ü', '"', '\\'], count: 1, none: null };
  assert.equal(detailsText(clean), JSON.stringify(clean));
  const unclean = ['a\u0000b', 'a\nb', 'a\x7fb', 'a\ud800b'];
  assert.equal(detailsText({ unclean }), JSON.stringify({ unclean: unclean.map(() => 'a\ufffdb') }));
  assert.equal(detailsText({ long: 'x'.repeat(1201) }), JSON.stringify({ long: 'x'.repeat(1200) }));
  assert.equal(detailsText({ pair: '\u{1f600}' }), JSON.stringify({ pair: '\u{1f600}' }));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { newSigningSecret, signatureHeaders } from './signature.ts';

const now = () => Math.floor(Date.now() / 1000);
const body = '{"event":"anomaly.detected","text":"é漢𝔘"}';

test('another implementation of the specification accepts the signature, with the old and with the new secret', () => {
  const [old, fresh] = [newSigningSecret(), newSigningSecret()];
  const headers = signatureHeaders({ id: 'whd_1', timestamp: now(), body }, [fresh, old]);
  for (const secret of [old, fresh]) assert.deepEqual(new Webhook(secret).verify(body, headers), JSON.parse(body));
});

test('it refuses another body, id, time or secret', () => {
  const secret = newSigningSecret();
  const headers = signatureHeaders({ id: 'whd_1', timestamp: now(), body }, [secret]);
  const receiver = new Webhook(secret);
  assert.throws(() => receiver.verify(`${body} `, headers));
  assert.throws(() => receiver.verify(body, { ...headers, 'webhook-id': 'whd_2' }));
  assert.throws(() =>
    receiver.verify(body, { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 1) }),
  );
  assert.throws(() => new Webhook(newSigningSecret()).verify(body, headers));
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { SERVER_AUTH } from '../../server/src/features/certificates/x509.ts';
import { HOUR_MS, SECOND_MS } from '../../server/src/kernel/base/clock.ts';
import { logLines } from '../support/log-lines.ts';
import { spawnService, stopService } from '../support/process.ts';
import { testAuthority } from '../support/test-authority.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-expired-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A client that checks an expired certificate cannot verify it. */
async function bodyOf(url: string, headers = {}): Promise<string> {
  const [response] = (await once(get(url, { rejectUnauthorized: false, headers }), 'response')) as [IncomingMessage];
  return text(response);
}

test('a certificate that has expired is warned of until it is replaced, and its time is a metric', async () => {
  const authority = await testAuthority({ cn: 'Corporate' });
  const hour = Math.floor(Date.now() / SECOND_MS) * SECOND_MS;
  const issue = (notAfter: number) =>
    authority.issue({ cn: 'server', extendedKeyUsage: [SERVER_AUTH], notBefore: hour - 2 * HOUR_MS, notAfter });
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const put = async (one: Awaited<ReturnType<typeof issue>>) => {
    writeFileSync(key, await one.keyPem(), { mode: 0o600 });
    chmodSync(key, 0o600);
    writeFileSync(cert, one.pem);
  };
  await put(await issue(hour - HOUR_MS));
  const service = await spawnService({ env: { CV_TLS_CERT_FILE: cert, CV_TLS_KEY_FILE: key } });
  const warned = logLines(service).filter(({ warning }) => warning === 'expired_certificate');
  assert.deepEqual([warned.length, warned[0]?.['level']], [1, 'warn']);
  const warnings = async () => JSON.parse(await bodyOf(`${service.url}/health/ready`)).details.warnings;
  assert.deepEqual(await warnings(), ['expired_certificate']);
  const expiry = async () => {
    const metrics = await bodyOf(`${service.url}/metrics`, { authorization: `Bearer ${service.adminToken()}` });
    return Number(/^cv_tls_certificate_expiry_timestamp_seconds (\S+)$/m.exec(metrics)?.[1]);
  };
  assert.equal(await expiry(), (hour - HOUR_MS) / SECOND_MS);

  await put(await issue(hour + HOUR_MS));
  await until('the certificate is replaced', async () => (await warnings()).length === 0);
  assert.equal(await expiry(), (hour + HOUR_MS) / SECOND_MS);
  await stopService(service);
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { ArchiveBucket } from '../../server/src/features/audit/archive/archive-bucket.ts';
import { archiveSettings } from '../../server/src/features/audit/archive/settings.ts';
import { HOUR_MS } from '../../server/src/kernel/base/clock.ts';
import { signedHeaders } from '../../server/src/kernel/outbound/aws-signature.ts';
import { archive, archivesOf, grow, prune } from '../support/audit-growth.ts';
import { verified } from '../support/audit-retention.ts';
import { metricsText, seriesValue } from '../support/metric-lines.ts';
import { freePort } from '../support/ports.ts';
import { RunningProgram } from '../support/running-program.ts';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { addVault, runJobs } from '../support/vaults.ts';

/** The archive in a bucket, of an S3-compatible server of somebody else. */

const INSTALL_TIMEOUT_MS = 5 * 60_000;
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'coffer-s3-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Why the server cannot be had here, or false. */
async function install(): Promise<string | false> {
  try {
    await run('python3', ['-m', 'venv', folder]);
    const pinned = ['install', '--quiet', '--requirement', join(import.meta.dirname, 'requirements-s3.txt')];
    await run(join(folder, 'bin/pip'), pinned, { timeout: INSTALL_TIMEOUT_MS });
    return false;
  } catch (error) {
    return `moto cannot be had here, which takes Python and PyPI: ${String((error as Error).message).split('\n')[0]}`;
  }
}

const skip = await install();
const KEY_FILE = join(folder, 'secret.key');
const BUCKET = 'audit-archive';

onBothDatabases('the archive in a bucket', (database) => {
  let port: number;
  let server: RunningProgram | null = null;
  let service: Service;

  async function startBucket(): Promise<void> {
    server = new RunningProgram(mkdtempSync(join(tmpdir(), 'coffer-moto-')), join(folder, 'bin/moto_server'), [
      '-p',
      String(port),
    ]);
    await until('the server does not answer', () =>
      fetch(`http://127.0.0.1:${port}/moto-api/`).then(
        () => true,
        () => false,
      ),
    );
    const url = `http://127.0.0.1:${port}/${BUCKET}`;
    const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret of the test', sessionToken: null };
    const request = { method: 'PUT', url, headers: {}, body: '' } as const;
    const headers = signedHeaders(request, credentials, { region: 'us-east-1', service: 's3', now: Date.now() });
    assert.equal((await fetch(url, { method: 'PUT', headers })).status, 200);
  }

  before(async () => {
    if (skip !== false) return;
    port = await freePort();
    await startBucket();
    writeFileSync(KEY_FILE, 'secret of the test\n', { mode: 0o600 });
    service = await startService(database, {
      env: {
        CV_AUDIT_ARCHIVE: `s3://${BUCKET}/logs/coffer`,
        CV_AUDIT_KEEP_DAYS: '1',
        CV_AUDIT_S3_ENDPOINT: `http://127.0.0.1:${port}`,
        CV_AUDIT_S3_ACCESS_KEY_ID: 'AKIDEXAMPLE',
        CV_AUDIT_S3_SECRET_KEY_FILE: KEY_FILE,
        CV_OUTBOUND_ALLOW: '127.0.0.1',
      },
    });
  });
  after(async () => {
    await service?.close();
    await server?.stop();
  });

  const bucket = () => {
    const { config, http, clock, operatorTenantId: owner } = service.app.kernel;
    const target = config.of(archiveSettings)?.target;
    assert.ok(target !== undefined && 'bucket' in target);
    return new ArchiveBucket(target, { http, clock, owner });
  };

  test('never replaces an object, and says of a missing one that it is', { skip }, async () => {
    assert.equal(bucket().name, `s3://${BUCKET}/logs/coffer/`);
    assert.equal(await bucket().read('nothing.audit'), null);
    assert.equal(await bucket().write('one.audit', Buffer.from('first')), true);
    assert.equal(await bucket().write('one.audit', Buffer.from('second')), false);
    assert.equal((await bucket().read('one.audit'))?.toString(), 'first');
  });

  test('takes ranges, from which they are pruned, and catches up after it was away', { skip }, async () => {
    service.expectErrorLogs(/could not be archived|"job":"archive-audit"/);
    await grow(service, await addVault(service));
    await server?.stop();
    await archive(service);
    assert.equal(seriesValue(await metricsText(service), 'cv_audit_archive_failing'), 1);
    assert.equal((await archivesOf(service)).length, 0);
    await startBucket();
    service.clock.advance(HOUR_MS);
    await runJobs(service);
    assert.equal(seriesValue(await metricsText(service), 'cv_audit_archive_failing'), 0);
    await prune(service);
    const [row] = await archivesOf(service);
    assert.ok(((await bucket().read(String(row?.object)))?.length ?? 0) > 1000);
    const { valid, archived } = await verified(service);
    assert.deepEqual([valid, archived], [true, row?.entries]);
    assert.ok(service.logs.every((line) => !line.includes('secret of the test')));
  });
});

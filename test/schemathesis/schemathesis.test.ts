import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { onBothDatabases, type Service, startService } from '../support/service.ts';
import { EXPLAINED_FINDINGS } from './explained-findings.ts';

/**
 * Schemathesis reads the document of a running service and tries to find where the service is not as it says. `npm run test:schemathesis` runs it, from
 * a seed and with a number of requests that are always the same unless given.
 */

const HERE = import.meta.dirname;
const SEED = process.env['COFFER_TEST_SCHEMATHESIS_SEED'] ?? '1';
const EXAMPLES = process.env['COFFER_TEST_SCHEMATHESIS_EXAMPLES'] ?? '10';
const INSTALL_TIMEOUT_MS = 10 * 60 * 1000;
const RUN_TIMEOUT_MS = 25 * 60 * 1000;
/** All of what it tries; a run that tried less found nothing because it did nothing. */
const REQUESTS_MIN = 5000;

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'coffer-schemathesis-'));
const program = (name: string) => join(folder, 'bin', name);

before(async () => {
  await run('python3', ['-m', 'venv', folder]);
  const pinned = ['install', '--quiet', '--requirement', join(HERE, 'requirements.txt')];
  await run(program('pip'), pinned, { timeout: INSTALL_TIMEOUT_MS });
});
after(() => rmSync(folder, { recursive: true, force: true }));

onBothDatabases('schemathesis', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database, { env: { CV_TRUSTED_PROXIES: '127.0.0.1' } });
  });
  after(() => service.close());

  test(`finds nothing unexplained, from seed ${SEED}`, async (t) => {
    const report = join(folder, `${database}.ndjson`);
    const output = await schemathesis(service, report);
    const { requests, findings } = await readReport(report);
    const explained = findings.filter((one) => explanationOf(one) !== undefined);
    t.diagnostic(`${requests} requests; ${explained.length} findings are explained`);
    assert.ok(requests >= REQUESTS_MIN, `it sent only ${requests} requests:\n${output}`);
    const unexplained = findings.filter((one) => explanationOf(one) === undefined);
    assert.deepEqual(unexplained, [], `seed ${SEED}`);
  });
});

test('a finding that nothing explains is one that fails the run', () => {
  const finding = { code: 'ST202', operation: 'GET /x', expected: 'Valid data should have been accepted', answer: '' };
  assert.equal(explanationOf({ ...finding, answer: 'The request is not valid: /body/name is too odd.' }), undefined);
  assert.ok(explanationOf({ ...finding, answer: 'The request is not valid: /body needs exactly one of a and b.' }));
  assert.equal(explanationOf({ ...finding, code: 'ST101', answer: 'The service failed.' }), undefined);
});

interface Finding {
  code: string;
  operation: string;
  /** What it expected. */
  expected: string;
  /** What came back: of a refusal its message, of anything else the status alone, since it may hold a value. */
  answer: string;
}

function explanationOf({ code, expected, answer }: Finding): string | undefined {
  return EXPLAINED_FINDINGS.find((one) => one.code === code && one.says.test(`${expected}\n${answer}`))?.reason;
}

/** It ends with 1 if it found something, which is for us to judge; any other code is a run that did not work. */
async function schemathesis(service: Service, report: string): Promise<string> {
  const { user, tenant, credential } = (await service.call('GET', '/auth/me')).body;
  const config = ['--config-file', join(HERE, 'schemathesis.toml')];
  const bounds = ['--seed', SEED, '--max-examples', EXAMPLES, '--phases', 'coverage,fuzzing,stateful', '--no-shrink'];
  const reporting = ['--continue-on-failure', '--suppress-health-check', 'all', '--report-ndjson-path', report];
  const args = ['--no-color', ...config, 'run', `${service.url}/openapi.json`, ...bounds, ...reporting];
  const env = {
    PATH: process.env['PATH'] ?? '',
    PYTHONPATH: HERE,
    PYTHONDONTWRITEBYTECODE: '1',
    SCHEMATHESIS_HOOKS: 'hooks',
    COFFER_TOKEN: service.adminToken,
    COFFER_OWN_NAMES: [user.id, user.email, tenant.id, tenant.name, credential.id].join(),
  };
  try {
    const { stdout } = await run(program('st'), args, {
      env,
      cwd: folder,
      timeout: RUN_TIMEOUT_MS,
      maxBuffer: 2 ** 26,
    });
    return stdout;
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
    assert.equal(code, 1, `schemathesis ended with ${code}:\n${stdout?.slice(-4000)}${stderr}`);
    return stdout ?? '';
  }
}

interface Scenario {
  recorder: {
    checks?: Record<
      string,
      { status: string; failure_info?: { failure: { code: string; operation: string; message: string } } }[]
    >;
    interactions?: Record<string, { response: { status_code: number; content?: { $base64?: string } } | null }>;
  };
}

async function readReport(file: string): Promise<{ requests: number; findings: Finding[] }> {
  const findings = new Map<string, Finding>();
  let requests = 0;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const { ScenarioFinished: scenario } = JSON.parse(line) as { ScenarioFinished?: Scenario };
    if (scenario === undefined) continue;
    // A scenario that was skipped has neither.
    const { checks = {}, interactions = {} } = scenario.recorder;
    requests += Object.keys(interactions).length;
    for (const [id, ofCase] of Object.entries(checks)) {
      for (const { failure_info } of ofCase) {
        if (failure_info === undefined || failure_info === null) continue;
        const { code, operation, message } = failure_info.failure;
        const finding = { code, operation, expected: message, answer: answerIn(interactions[id]?.response ?? null) };
        findings.set(JSON.stringify([code, operation, finding.answer]), finding);
      }
    }
  }
  return { requests, findings: [...findings.values()] };
}

function answerIn(response: { status_code: number; content?: { $base64?: string } } | null): string {
  if (response === null) return 'none';
  const text = Buffer.from(response.content?.$base64 ?? '', 'base64').toString();
  if (response.status_code < 400) return String(response.status_code);
  try {
    return JSON.parse(text).error.message;
  } catch {
    return `${response.status_code} without an error that can be read`;
  }
}

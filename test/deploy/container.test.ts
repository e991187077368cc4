import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { commandIn, environmentOf, sendContext, stagesOf } from '../support/container-file.ts';
import { newScratch } from '../support/packages.ts';
import { freePort, newPostgresDatabase } from '../support/postgres.ts';
import { READY_LINE } from '../support/process.ts';
import { onBothDatabases } from '../support/service.ts';
import { until } from '../support/until.ts';
import { containerScript, PATH, runBeside, whyNoContainer, writeScript } from './container-drill.ts';

/**
 * The steps of the container file, one by one, without a container engine: what it installs, copies and starts, on a read-only root, as its user and
 * without capabilities. What only an engine can show is in docs/deploy.md.
 */

const ROOT = join(import.meta.dirname, '../..');
const stages = stagesOf(join(ROOT, 'deploy/container/Containerfile'));
const skip = whyNoContainer() ?? false;
const BUILD_MS = 10 * 60_000;
const UID = '10001';

onBothDatabases('the container', (database) => {
  describe('carried out by hand', { skip }, () => {
    const scratch = newScratch();
    const context = newScratch();
    const secrets = newScratch();
    let child: ReturnType<typeof spawn>;
    let output = '';
    let env: Record<string, string> = {};
    let url = '';
    const ended = () => new Promise<number | null>((resolve) => child.once('close', resolve));

    before(async () => {
      sendContext(ROOT, context);
      // As docs/deploy.md says: readable in the container, in a folder that keeps others away.
      chmodSync(secrets, 0o755);
      writeFileSync(join(secrets, 'root-passphrase'), 'correct horse battery staple\n');
      const port = await freePort();
      url = `http://127.0.0.1:${port}`;
      const own = {
        CV_PORT: `${port}`,
        CV_TLS_PORT: '0',
        CV_DRAIN_SECONDS: '0',
        CV_ROOT_KEY_PROVIDER: 'passphrase',
        CV_ROOT_PASSPHRASE_FILE: '/run/secrets/root-passphrase',
      };
      const postgres: Record<string, string> = {};
      if (database === 'postgres') {
        writeFileSync(join(secrets, 'database-url'), await newPostgresDatabase());
        postgres['CV_DATABASE_URL_FILE'] = '/run/secrets/database-url';
      }
      const last = stages.at(-1) ?? assert.fail('no stage');
      env = { PATH, ...environmentOf(last), ...own, ...postgres };
      const script = containerScript({
        stages,
        context,
        scratch,
        env: { ...own, ...postgres },
        mounts: { '/run/secrets': secrets },
        isVolumeOfGroup: database === 'sqlite',
      });
      child = spawn('unshare', ['--mount', 'bash', writeScript(newScratch(), script)], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      for (const stream of [child.stdout, child.stderr])
        stream?.setEncoding('utf8').on('data', (text) => (output += text));
      let isOver = false;
      child.once('close', () => (isOver = true));
      await until('the service is ready', () => READY_LINE.test(output) || isOver, BUILD_MS);
      assert.match(output, READY_LINE);
    });
    after(async () => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await ended();
    });
    const pid = () => child.pid ?? assert.fail('no process');

    test('runs as its user, without capabilities, and can gain none', () => {
      const status = readFileSync(`/proc/${pid()}/status`, 'utf8');
      const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1];
      assert.equal(field('Uid'), UID);
      assert.equal(field('Gid'), UID);
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd']) assert.equal(field(set), '0000000000000000', set);
      assert.equal(field('NoNewPrivs'), '1');
    });

    test('answers, and its health check agrees', async () => {
      assert.equal((await fetch(`${url}/health/ready`)).status, 200);
      const check = stages.at(-1)?.instructions.find(({ name }) => name === 'HEALTHCHECK') ?? assert.fail('none');
      assert.equal(runBeside(pid(), commandIn(check), env).status, 0);
      assert.equal(runBeside(pid(), commandIn(check), { ...env, CV_PORT: '1' }).status, 1);
    });

    test('can write to its volume and to /tmp only', () => {
      for (const folder of ['/app', '/app/server', '/var', '/etc', '/']) {
        const { stderr, status } = runBeside(pid(), ['touch', `${folder}/x`], env, '0');
        assert.equal(status, 1, folder);
        assert.match(stderr, /Read-only file system/, folder);
      }
      assert.equal(runBeside(pid(), ['touch', '/tmp/x'], env).status, 0);
      const { stdout } = runBeside(pid(), ['stat', '-c', '%a %u', '/var/lib/coffer/data'], env);
      // The first digit is the group's inheritance in a volume of Kubernetes.
      assert.match(stdout, new RegExp(`^2?700 ${UID}\\n$`));
    });

    test('has what runs and nothing else', () => {
      const listed = runBeside(pid(), ['find', '/app', '-name', '*.test.ts', '-not', '-path', '*/node_modules/*'], env);
      assert.equal(listed.stdout, '');
      for (const absent of ['node_modules/typescript', 'node_modules/esbuild', 'test', '.git', 'bench']) {
        assert.notEqual(runBeside(pid(), ['test', '-e', `/app/${absent}`], env).status, 0, absent);
      }
    });

    test('has the coffer command, which writes a backup', () => {
      const { status, stderr } = runBeside(pid(), ['coffer', 'server', 'backup', '/var/lib/coffer/one.backup'], env);
      assert.equal(status, 0, stderr);
    });

    test('ends with 0 when the engine stops it', async () => {
      const end = ended();
      child.kill('SIGTERM');
      assert.equal(await end, 0, output);
    });
  });
});

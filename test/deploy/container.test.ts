import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { commandIn, environmentOf, sendContext, stagesOf } from '../support/container-file.ts';
import { newScratch } from '../support/packages.ts';
import { freePort } from '../support/ports.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { READY_LINE } from '../support/process.ts';
import { onBothDatabases } from '../support/service.ts';
import { until } from '../support/until.ts';
import { containerScript, runBeside, whyNoContainer, writeScript } from './container-drill.ts';

/**
 * The steps of the container file, one by one, without a container engine: what it installs, copies and starts, on a read-only root, as its user and
 * without capabilities. What only an engine can show is in docs/deploy.md.
 */

const ROOT = join(import.meta.dirname, '../..');
const stages = stagesOf(join(ROOT, 'deploy/container/Containerfile'));
const skip = whyNoContainer() ?? false;
const BUILD_MS = 10 * 60_000;
const UID = '10001';
const COMMIT = 'c0ffee'.padEnd(40, '0');
/** Besides the scripts of the service and the coffer command. */
const PROGRAMS = ['/usr/bin/cat', '/usr/bin/env', '/usr/local/bin/node'];

/** The folders of the kernel, of the drill, and what is mounted. */
const FOREIGN = /^\/(dev|proc|sys|run|tmp|var)$/;

function filesIn(root: string, folder = ''): string[] {
  return readdirSync(`${root}${folder}/`, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return FOREIGN.test(path) ? [] : filesIn(root, path);
    return entry.isFile() ? [path] : [];
  });
}

function isExecutable(file: string): boolean {
  return (statSync(file).mode & 0o111) !== 0;
}

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
      env = { ...environmentOf(last), ...own, ...postgres };
      const script = containerScript({
        stages,
        buildArguments: { NODE_IMAGE: `node@sha256:${'a'.repeat(64)}`, COMMIT },
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

    const rootFolder = () => `/proc/${pid()}/root`;
    const writing = (file: string, user?: string) =>
      runBeside(pid(), ['node', '-e', 'fs.writeFileSync(process.argv[1], "")', file], env, user);

    test('can write to its volume and to /tmp only', () => {
      for (const folder of ['/app', '/app/server', '/var', '/etc', '/']) {
        const { stderr, status } = writing(`${folder}/x`, '0');
        assert.equal(status, 1, folder);
        assert.match(stderr, /EROFS: read-only file system/, folder);
      }
      assert.equal(writing('/tmp/x').status, 0);
      const { mode, uid } = statSync(join(rootFolder(), 'var/lib/coffer/data'));
      assert.equal(mode & 0o777, 0o700);
      assert.equal(`${uid}`, UID);
    });

    test('has what runs and nothing else: no shell, no npm, no package manager', () => {
      for (const absent of ['node_modules/typescript', 'node_modules/esbuild', 'test', '.git', 'bench'])
        assert.ok(!existsSync(join(rootFolder(), 'app', absent)), absent);
      const files = filesIn(rootFolder());
      assert.deepEqual(
        files.filter((file) => /\.test\.ts$/.test(file) && !file.includes('/node_modules/')),
        [],
      );
      const programs = files.filter((file) => isExecutable(rootFolder() + file) && !/\.so(\.|$)|^\/app\//.test(file));
      assert.deepEqual(programs.toSorted(), PROGRAMS);
      const { error, status } = runBeside(pid(), ['sh', '-c', 'true'], env);
      assert.notEqual(status, 0, String(error));
    });

    test('says which commit it was made from', async () => {
      const { commit } = (await (await fetch(`${url}/health`)).json()) as { commit: string };
      assert.equal(commit, COMMIT);
      const { stdout, stderr } = runBeside(pid(), ['coffer', '--version'], env);
      assert.ok(stdout.includes(COMMIT), stdout + stderr);
    });

    test('shows its first token to an operator', () => {
      const { stdout } = runBeside(pid(), ['cat', '/var/lib/coffer/data/admin.token'], env);
      assert.match(stdout, /^cv_pat_/);
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

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { commandIn, environmentOf, ignorePatterns, isSent, sentFiles, stagesOf } from '../support/container-file.ts';
import { newScratch } from '../support/packages.ts';

/** What can be said of the container file without building it. `npm run test:deploy` carries out its steps. */

const ROOT = join(import.meta.dirname, '../..');
const CONTAINER_FILE = join(ROOT, 'deploy/container/Containerfile');
const stages = stagesOf(CONTAINER_FILE);
const last = stages.at(-1) ?? assert.fail('no stage');
const patterns = ignorePatterns(join(ROOT, '.dockerignore'));
const readJson = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'));
const only = (name: string) => {
  const found = last.instructions.filter((each) => each.name === name);
  assert.equal(found.length, 1, name);
  return found[0] ?? assert.fail(name);
};

describe('the container file', () => {
  const { version } = readJson('package.json');
  const node = readJson('server/src/start/node-binaries.json').version;

  test('builds on the image that the builder names, and the last stage on nothing', () => {
    assert.deepEqual(
      stages.map(({ image }) => image),
      ['$NODE_IMAGE', '$NODE_IMAGE', '$NODE_IMAGE', 'scratch'],
    );
    // What can be built by the commands at its head.
    const text = readFileSync(CONTAINER_FILE, 'utf8');
    assert.ok(text.includes(`-t coffer:${version} `) && text.includes(`NODE_IMAGE=node:${node}-slim@sha256:`));
  });

  /** Carries out the steps that check what the builder was given. */
  const checked = (given: Record<string, string>) => {
    const all = stages.flatMap(({ instructions }) => instructions);
    const steps = all.filter(({ name, text }) => name === 'RUN' && text.includes('exit 1'));
    assert.equal(steps.length, 3);
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, ...given };
    for (const { text } of steps) {
      const { status, stderr } = spawnSync('/bin/sh', ['-c', text], { env, encoding: 'utf8' });
      if (status !== 0) return stderr;
    }
    return null;
  };
  const BY_DIGEST = `node:${node}-slim@sha256:${'a'.repeat(64)}`;

  for (const [what, given, says] of [
    ['no image', { COMMIT: 'a'.repeat(40) }, /Name the digest of the image/],
    [
      'an image by its tag alone',
      { NODE_IMAGE: `node:${node}-slim`, COMMIT: 'a'.repeat(40) },
      /--build-arg NODE_IMAGE/,
    ],
    ['no commit', { NODE_IMAGE: BY_DIGEST }, /Name the commit: --build-arg COMMIT=/],
    ['a name of a branch', { NODE_IMAGE: BY_DIGEST, COMMIT: 'main' }, /Name the commit/],
  ] as [string, Record<string, string>, RegExp][]) {
    test(`is not built from ${what}, and says what to name`, () => {
      assert.match(String(checked(given)), says);
    });
  }

  test('is built from the Node that is pinned and a commit, and from no other Node', () => {
    const given = { NODE_IMAGE: BY_DIGEST, COMMIT: 'a'.repeat(40) };
    assert.equal(checked(given), null);
    const other = newScratch();
    writeFileSync(join(other, 'node'), '#!/bin/sh\necho v26.9.0\n', { mode: 0o755 });
    assert.match(String(checked({ ...given, PATH: `${other}:/usr/bin:/bin` })), /has Node v26\.9\.0 instead of/);
  });

  test('starts the service as npm start does', () => {
    const { scripts } = readJson('package.json');
    const [, flags = ''] = /exec env .*? node (.*) server\/main\.js \|\|/.exec(scripts.start) ?? [];
    assert.deepEqual(commandIn(only('CMD')), ['node', ...flags.split(' '), '/app/server/main.js']);
    const variables = [...scripts.start.matchAll(/(MALLOC_\w+)=(\d+)/g)].map(([, name, value]) => [name, value]);
    assert.equal(variables.length, 2);
    for (const [name, value] of variables) assert.equal(environmentOf(last)[name], value);
  });

  test('does not run as root, and has a health check whose script is there', () => {
    assert.match(only('USER').text, /^[1-9]\d+:[1-9]\d+$/);
    const [node, script = ''] = commandIn(only('HEALTHCHECK'));
    assert.equal(node, 'node');
    assert.ok(existsSync(join(ROOT, script.replace('/app/', ''))), script);
  });

  test('copies what exists and what the builder is sent', () => {
    const copied = stages
      .flatMap(({ instructions }) => instructions)
      .filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from='))
      .flatMap(({ text }) => text.split(' ').slice(0, -1));
    assert.ok(copied.length > 8);
    for (const source of copied) {
      const path = join(ROOT, source);
      const file = statSync(path).isDirectory() ? `${source}/any` : source;
      assert.ok(isSent(file, patterns), source);
    }
  });

  test('has the description of every workspace, without which npm ci refuses the lock file', () => {
    const { workspaces } = readJson('package.json') as { workspaces: string[] };
    const texts = stages[0]?.instructions.map(({ text }) => text) ?? [];
    for (const name of workspaces) assert.ok(texts.includes(`${name}/package.json ${name}/`), name);
  });

  test('is sent nothing else: no test, no data, no secret, no history', () => {
    const sent = sentFiles(ROOT);
    assert.ok(sent.includes('server/src/main.ts') && sent.includes('docs/guide/README.md'));
    const allowed =
      /^(\.npmrc|package(-lock)?\.json|LICENSE|(docs|server|client|detection|cli|console)\/.*|(agent|test\/clients)\/package\.json|deploy\/container\/healthcheck\.js)$/;
    assert.deepEqual(
      sent.filter((file) => !allowed.test(file) || /\.test\.ts$|testdata|node_modules|console\/dist/.test(file)),
      [],
    );
    for (const file of ['data/root.key', 'deploy/compose/secrets/root-passphrase', '.git/config', 'x.env', '.env']) {
      assert.ok(!isSent(file, patterns), file);
    }
  });
});

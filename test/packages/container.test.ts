import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { commandIn, environmentOf, ignorePatterns, isSent, sentFiles, stagesOf } from '../support/container-file.ts';

/** What can be said of the container file without building it. `npm run test:deploy` carries out its steps. */

const ROOT = join(import.meta.dirname, '../..');
const stages = stagesOf(join(ROOT, 'deploy/container/Containerfile'));
const last = stages.at(-1) ?? assert.fail('no stage');
const patterns = ignorePatterns(join(ROOT, '.dockerignore'));
const readJson = (file: string) => JSON.parse(readFileSync(join(ROOT, file), 'utf8'));
const only = (name: string) => {
  const found = last.instructions.filter((each) => each.name === name);
  assert.equal(found.length, 1, name);
  return found[0] ?? assert.fail(name);
};

describe('the container file', () => {
  test('uses the Node that is pinned, in every stage', () => {
    const { version } = readJson('server/src/start/node-binaries.json');
    assert.equal(stages.length, 3);
    for (const { image } of stages) assert.equal(image, `node:${version}-slim`);
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
      /^(\.npmrc|package(-lock)?\.json|LICENSE|(docs|server|client|cli|console)\/.*|(agent|test\/clients)\/package\.json|deploy\/container\/healthcheck\.js)$/;
    assert.deepEqual(
      sent.filter((file) => !allowed.test(file) || /\.test\.ts$|testdata|node_modules|console\/dist/.test(file)),
      [],
    );
    for (const file of ['data/root.key', 'deploy/compose/secrets/root-passphrase', '.git/config', 'x.env', '.env']) {
      assert.ok(!isSent(file, patterns), file);
    }
  });
});

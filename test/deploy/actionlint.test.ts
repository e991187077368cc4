import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { ACTIONLINT, builtProgram, Unavailable } from '../cluster/go-programs.ts';
import { newScratch } from '../support/packages.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);

async function lint(t: TestContext, change: (workflow: string) => string): Promise<string | null> {
  const program = await builtProgram(ACTIONLINT).catch((error) => {
    if (!(error instanceof Unavailable)) throw error;
    t.skip(error.message);
    return null;
  });
  if (program === null) return null;
  // A repository in which the action is where the example says, so that its inputs are compared with those of action.yml.
  const folder = newScratch();
  mkdirSync(join(folder, '.github/workflows'), { recursive: true });
  mkdirSync(join(folder, '.git'));
  cpSync(join(ROOT, 'deploy/github-action'), join(folder, 'deploy/github-action'), { recursive: true });
  const file = join(folder, '.github/workflows/deploy.yml');
  writeFileSync(file, change(readFileSync(join(ROOT, 'deploy/github-action/example.yml'), 'utf8')));
  const answer = await run(program, ['-no-color', file], { cwd: folder }).catch((error) => error as { stdout: string });
  return answer.stdout;
}

test('actionlint has nothing to say about the example and the action', async (t) => {
  const findings = await lint(t, (workflow) => workflow);
  if (findings !== null) assert.equal(findings, '');
});

test('actionlint finds an input that the action does not have', async (t) => {
  const findings = await lint(t, (workflow) => workflow.replace('connection:', 'conection:'));
  if (findings !== null) assert.match(findings, /"conection" is not defined/);
});

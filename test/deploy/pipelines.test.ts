import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { addConnection, type Machine } from '../support/machines.ts';
import { OidcIssuer } from '../support/oidc-issuer.ts';
import { newScratch } from '../support/packages.ts';
import { ok } from '../support/people.ts';
import { type Service, startService } from '../support/service.ts';

/** The GitHub Action and the template for GitLab, as their runners run them, against the service and a real issuer of identities. */

const ROOT = join(import.meta.dirname, '../..');
const ACTION = join(ROOT, 'deploy/github-action');
const AUDIENCE = 'https://coffer.example';
const RUNNER_TOKEN = 'what a runner of GitHub is given';
/** Values that would be orders to a runner, or end a file of it early, if they were written as they are. */
const HOSTILE = {
  'h/orders': 'first line\n::set-output name=x::y\n::add-path::/tmp/evil\n::stop-commands::all',
  'h/heredoc': 'a\nEOF\nEVIL<<EOF\nyes\nEOF\nINJECTED=yes\ncoffer_\n',
  'h/escapes': '100%25 %0A::error::x %0D\ttab',
  'h/carriage': 'one\r\ntwo two\rthree three\r\n',
  'h/shell': '$(touch /tmp/coffer-evil) `id` "quoted" \'single\' \\ $HOME & | ; > <',
  'h/unicode': 'käse 🔑 secret-value',
  'h/short': 'abc',
  'h/empty': '',
  'h/trailing': 'value with line breaks\n\n',
};
const JSON_VALUE = JSON.stringify({ key: 'part-of-json', nested: { 'a/b': ['zero', 'one-of-list'] }, n: 12345 });

interface Ran {
  code: number | null;
  output: string;
  stdout: string;
}

let service: Service;
let issuer: OidcIssuer;
let runner: Server;
let machine: Machine;
const audiences: string[] = [];

function run(program: string, args: readonly string[], env: Record<string, string>): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { PATH: process.env['PATH'] ?? '', ...env }, cwd: newScratch() });
    let [output, stdout] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output, stdout }));
  });
}

describe('pipelines', () => {
  before(async () => {
    service = await startService('sqlite', { env: { CV_AUDIENCE: AUDIENCE, CV_OUTBOUND_ALLOW: '127.0.0.1' } });
    issuer = await OidcIssuer.start();
    // GitHub's answer to a runner that asks for the identity of a job.
    runner = createServer(async (request, response) => {
      const url = new URL(request.url ?? '', 'http://runner');
      const audience = url.searchParams.get('audience') ?? '';
      audiences.push(audience);
      if (request.headers.authorization !== `Bearer ${RUNNER_TOKEN}`) return response.writeHead(401).end('{}');
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ value: await issuer.token(audience) }));
    });
    await new Promise<void>((resolve) => runner.listen(0, '127.0.0.1', resolve));
    await ok(service.call('POST', '/v1/vaults', { body: { name: 'shop', environment: 'staging' } }), 201);
    const secrets = {
      ...HOSTILE,
      'db/main': 'pass word of the database',
      'api/json': JSON_VALUE,
      'other/x': 'not in scope',
    };
    for (const [path, value] of Object.entries(secrets)) {
      await ok(service.call('POST', '/v1/vaults/shop/secrets', { body: { path, value, type: 'generic' } }), 201);
    }
    await ok(service.call('PUT', '/v1/vaults/shop/secrets/db/main', { body: { value: 'the newer password' } }));
    machine = await addConnection(service, 'shop', { allowed_paths: ['db/*', 'api/*', 'h/*'], mtls_required: true });
    const federation = { name: 'ci', provider: 'custom', issuer: issuer.url, subject_pattern: 'workload' };
    await ok(service.call('POST', `/app-connections/${machine.id}/federations`, { body: federation }), 201);
  });
  after(async () => {
    runner.close();
    issuer.close();
    await service.close();
  });

  describe('the GitHub Action', () => {
    const files = () => {
      const folder = newScratch();
      const [env, output] = [join(folder, 'env'), join(folder, 'output')];
      for (const file of [env, output]) writeFileSync(file, '');
      return { env, output };
    };

    function action(
      inputs: Record<string, string>,
      more: Record<string, string> = {},
      written = files(),
    ): Promise<Ran> {
      const all = {
        url: service.tlsUrl,
        audience: AUDIENCE,
        connection: machine.client_id,
        'ca-file': join(service.dataDir, 'ca.pem'),
        ...inputs,
      };
      return run(process.execPath, [join(ACTION, 'main.mjs')], {
        ...Object.fromEntries(Object.entries(all).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value])),
        ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${(runner.address() as AddressInfo).port}/token?api-version=2.0`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: RUNNER_TOKEN,
        GITHUB_ENV: written.env,
        GITHUB_OUTPUT: written.output,
        ...more,
      });
    }

    /** As the runner reads the file: NAME=value on a line, or NAME<<DELIMITER and lines up to that delimiter. */
    function fileCommands(file: string): Record<string, string> {
      const lines = readFileSync(file, 'utf8').split('\n');
      assert.equal(lines.pop(), '');
      const found: Record<string, string> = {};
      while (lines.length > 0) {
        const line = lines.shift() ?? '';
        const [, name = '', delimiter = ''] = /^([^=<]+)<<(.+)$/.exec(line) ?? [];
        assert.ok(name !== '' && !(name in found), `not a heredoc, or ${name} for the second time`);
        const end = lines.indexOf(delimiter);
        assert.ok(end >= 0, `${name} has no end`);
        found[name] = lines
          .splice(0, end + 1)
          .slice(0, -1)
          .join('\n');
      }
      return found;
    }

    /** The orders that a runner would carry out, and the output without them. */
    function ordersIn(output: string): { masks: string[]; others: string[]; rest: string } {
      const unescaped = (text: string) => text.replaceAll('%0A', '\n').replaceAll('%0D', '\r').replaceAll('%25', '%');
      const lines = output.split('\n');
      const orders = lines.filter((line) => /^\s*::/.test(line));
      const masks = orders.filter((line) => line.startsWith('::add-mask::')).map((line) => unescaped(line.slice(12)));
      return {
        masks,
        others: orders.filter((line) => !line.startsWith('::add-mask::')),
        rest: lines.filter((line) => !orders.includes(line)).join('\n'),
      };
    }

    test('declares each input that its script reads', () => {
      const declared = [...readFileSync(join(ACTION, 'action.yml'), 'utf8').matchAll(/^ {2}([a-z-]+):$/gm)].map(
        ([, name]) => name,
      );
      const script = readFileSync(join(ACTION, 'main.mjs'), 'utf8');
      const read = new Set([...script.matchAll(/input\('([a-z-]+)'\)/g)].map(([, name]) => name));
      assert.deepEqual([...read].sort(), declared.sort());
      assert.deepEqual(
        [...script.matchAll(/^import .* from '(.+)';$/gm)].map(([, from]) => from?.startsWith('node:')),
        Array(5).fill(true),
      );
    });

    test('runs a command with the secrets as variables, and nothing else of the job’s identity', async () => {
      const { code, stdout } = await action({
        secrets:
          'DB = coffer://shop/db/main\n\n# a comment\nOLD=coffer://shop/db/main?version=1\nKEY = coffer://shop/api/json#/nested/a~1b/1',
        run: 'printf "%s|%s|%s|" "$DB" "$OLD" "$KEY" | tr a-z A-Z; env | grep -c "^INPUT_\\|ACTIONS_ID_TOKEN" || true',
      });
      assert.equal(code, 0, stdout);
      assert.match(stdout, /^THE NEWER PASSWORD\|PASS WORD OF THE DATABASE\|ONE-OF-LIST\|0$/m);
      assert.equal(audiences.at(-1), AUDIENCE);
    });

    test('ends with the code of the command', async () => {
      assert.equal((await action({ secrets: 'A=coffer://shop/db/main', run: 'exit 7' })).code, 7);
      assert.equal((await action({ secrets: 'A=coffer://shop/db/main', run: 'false; true' })).code, 1);
    });

    for (const to of ['env', 'output'] as const) {
      test(`hands over hostile values by ${to}, each as it is and nothing besides`, async () => {
        const written = files();
        const names = Object.keys(HOSTILE).map((path) => [path.replace('h/', 'VALUE_').toUpperCase(), path] as const);
        const secrets = names.map(([name, path]) => `${name} = coffer://shop/${path}`).join('\n');
        const { code, stdout } = await action({ secrets, export: to }, {}, written);
        assert.equal(code, 0, stdout);
        const expected = Object.fromEntries(names.map(([name, path]) => [name, HOSTILE[path as keyof typeof HOSTILE]]));
        assert.deepEqual(fileCommands(written[to]), expected);
        assert.equal(readFileSync(written[to === 'env' ? 'output' : 'env'], 'utf8'), '');
        const { masks, others, rest } = ordersIn(stdout);
        assert.equal(rest.trim(), '');
        assert.deepEqual(others.length, 2, others.join('\n'));
        for (const warning of others) assert.match(warning, /^::warning::VALUE_(SHORT|EMPTY) is too short/);
        for (const value of Object.values(HOSTILE).filter((each) => each.length > 3)) {
          assert.ok(masks.includes(value));
          for (const line of value.split(/\r\n|\r|\n/).filter((each) => each.length > 3))
            assert.ok(masks.includes(line), line);
        }
        assert.ok(masks.every((each) => each.length > 3));
      });
    }

    test('masks the identity, the token and the key that it was issued before anything can print them', async () => {
      const { stdout } = await action({ secrets: 'A = coffer://shop/db/main', run: 'true' });
      const { masks } = ordersIn(stdout);
      assert.ok(
        masks.some((each) => /^eyJ.*\..*\./.test(each)),
        'the identity',
      );
      assert.ok(
        masks.some((each) => each.includes('PRIVATE KEY')),
        'the key',
      );
      assert.ok(
        masks.some((each) => /^cv_/.test(each) || /^eyJ/.test(each)),
        'the token',
      );
    });

    test('a secret that cannot be read starts no command and hands over nothing', async () => {
      const written = files();
      const secrets = 'A = coffer://shop/db/main\nB = coffer://shop/other/x';
      const ran = await action({ secrets, run: 'echo started' });
      assert.equal(ran.code, 1);
      assert.doesNotMatch(ran.stdout, /started/);
      assert.match(ran.stdout, /::error::B: .* 403 (INSUFFICIENT_PRIVILEGE|VAULT_OUT_OF_SCOPE)/);
      assert.equal((await action({ secrets, export: 'env' }, {}, written)).code, 1);
      assert.equal(readFileSync(written.env, 'utf8'), '');
    });

    const refused: [what: string, inputs: Record<string, string>, env: Record<string, string>, says: RegExp][] = [
      ['no identity', {}, { ACTIONS_ID_TOKEN_REQUEST_URL: '' }, /permissions: id-token: write/],
      ['another connection', { connection: '00000000-0000-0000-0000-000000000000' }, {}, /401 LOGIN_DENIED/],
      ['another audience', { audience: 'https://elsewhere.example' }, {}, /401 LOGIN_DENIED/],
      ['a runner that refuses', {}, { ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'wrong' }, /answered 401/],
      ['plain http', { url: 'http://coffer.example.com' }, {}, /must begin with https/],
      ['a url with a path', { url: 'https://coffer.example.com/x' }, {}, /no user, path or query/],
      ['a certificate of an unknown root', { 'ca-file': '' }, {}, /cannot be reached \(.*(CERT|SIGN|VERIFY)/],
      ['a variable that orders the runner', { secrets: 'GITHUB_PATH = coffer://shop/db/main' }, {}, /may be set/],
      ['a variable that loads code', { secrets: 'NODE_OPTIONS = coffer://shop/db/main' }, {}, /may be set/],
      ['a name with a line of the file', { secrets: 'A<<B = coffer://shop/db/main' }, {}, /may be set/],
      ['a path with dots', { secrets: 'A = coffer://shop/../secrets' }, {}, /must be coffer:\/\/vault\/path/],
      ['a value', { secrets: 'A = s3cret-typed-here' }, {}, /A must be coffer:\/\/vault\/path/],
      ['the same name twice', { secrets: 'A=coffer://shop/db/main\nA=coffer://shop/db/main' }, {}, /twice/],
      ['a part that is not there', { secrets: 'A = coffer://shop/api/json#/absent' }, {}, /no part \/absent/],
      ['a part of what is no JSON', { secrets: 'A = coffer://shop/db/main#/x' }, {}, /is no JSON/],
      ['run and export', { export: 'env' }, {}, /either run/],
      ['no secrets', { secrets: '' }, {}, /Set the input secrets/],
    ];
    for (const [what, inputs, env, says] of refused) {
      test(`refuses ${what}`, async () => {
        const { code, stdout } = await action(
          { secrets: 'A = coffer://shop/db/main', run: 'echo started', ...inputs },
          env,
        );
        assert.equal(code, 1);
        const { others, rest } = ordersIn(stdout);
        assert.equal(rest.trim(), '');
        assert.match(others.join('\n'), says);
        assert.doesNotMatch(others.join('\n'), /s3cret-typed-here|newer password/);
      });
    }
  });

  describe('the template for GitLab', () => {
    const missing = ['curl', 'jq', 'awk'].find((name) => spawnSync(name, ['--version']).error !== undefined);
    const skip = missing === undefined ? false : `${missing} is not installed`;
    const template = readFileSync(join(ROOT, 'deploy/gitlab/coffer.gitlab-ci.yml'), 'utf8');
    const [, body = ''] = /^ {4}- \|\n((?: {6}.*\n|\n)+)/m.exec(template) ?? [];
    const script = body.replaceAll(/^ {6}/gm, '');

    async function job(variables: Record<string, string>): Promise<Ran & { left: string[] }> {
      const temporary = newScratch();
      const ran = await run('sh', ['-c', script], {
        COFFER_URL: service.tlsUrl,
        COFFER_CONNECTION: machine.client_id,
        COFFER_ID_TOKEN: await issuer.token(AUDIENCE),
        COFFER_CA_FILE: join(service.dataDir, 'ca.pem'),
        TMPDIR: temporary,
        ...variables,
      });
      return { ...ran, left: readdirSync(temporary) };
    }

    test('runs the command with the secrets, hides them in its output, and leaves nothing behind', {
      skip,
    }, async () => {
      const { code, output, left } = await job({
        COFFER_SECRETS: 'DB = coffer://shop/db/main\nOLD = coffer://shop/db/main?version=1\n',
        COFFER_RUN:
          'echo "the value is $DB, again $DB."; echo "on error $OLD" >&2; printf %s "$DB" | tr a-z A-Z; echo; echo "id:$(env | grep -c ^COFFER_ID_TOKEN=)"',
      });
      assert.equal(code, 0, output);
      assert.match(output, /the value is \[masked\], again \[masked\]\./);
      assert.match(output, /on error \[masked\]/);
      assert.match(output, /^THE NEWER PASSWORD$/m);
      assert.match(output, /^id:0$/m);
      assert.deepEqual(left, []);
    });

    test('hostile values arrive byte by byte, and every line of them is hidden', { skip }, async () => {
      for (const [path, value] of Object.entries(HOSTILE)) {
        const { code, output } = await job({
          COFFER_SECRETS: `VALUE = coffer://shop/${path}`,
          COFFER_RUN: 'printf %s "$VALUE" | od -An -v -tx1 | tr -d " \\n"; echo; printf "%s\\n" "$VALUE"',
        });
        assert.equal(code, 0, output);
        const [hex = '', ...lines] = output.split('\n');
        assert.equal(Buffer.from(hex, 'hex').toString(), value, path);
        const shown = value.split('\n').filter((line) => line.trim().length > 3 && lines.join('\n').includes(line));
        assert.deepEqual(shown, [], path);
      }
    });

    test('ends with the code of the command', { skip }, async () => {
      const { code, left } = await job({ COFFER_SECRETS: 'A=coffer://shop/db/main', COFFER_RUN: 'exit 7' });
      assert.equal(code, 7);
      assert.deepEqual(left, []);
    });

    const refused: [what: string, variables: Record<string, string>, says: RegExp][] = [
      ['no identity', { COFFER_ID_TOKEN: '' }, /set the variable COFFER_ID_TOKEN/],
      ['an identity that is not accepted', { COFFER_ID_TOKEN: 'x.y.z' }, /the exchange was refused: LOGIN_DENIED/],
      ['plain http', { COFFER_URL: 'http://coffer.example.com' }, /must begin with https/],
      ['an unknown root', { COFFER_CA_FILE: '' }, /the exchange was refused/],
      ['a secret out of scope', { COFFER_SECRETS: 'A=coffer://shop/other/x' }, /A was not read: (INSUFF|VAULT_OUT)/],
      ['a name with shell in it', { COFFER_SECRETS: 'A$(id)=coffer://shop/db/main' }, /names no variable/],
      ['a reserved name', { COFFER_SECRETS: 'PATH=coffer://shop/db/main' }, /names no variable/],
      ['a path with dots', { COFFER_SECRETS: 'A=coffer://shop/../x' }, /must be coffer/],
      ['a query', { COFFER_SECRETS: 'A=coffer://shop/db/main?version=1&x=2' }, /may end with/],
    ];
    for (const [what, variables, says] of refused) {
      test(`refuses ${what}, and starts nothing`, { skip }, async () => {
        const { code, output, left } = await job({
          COFFER_SECRETS: 'A=coffer://shop/db/main',
          COFFER_RUN: 'echo started',
          ...variables,
        });
        assert.equal(code, 1, output);
        assert.match(output, says);
        assert.doesNotMatch(output, /started|newer password/);
        assert.deepEqual(left, []);
      });
    }
  });
});

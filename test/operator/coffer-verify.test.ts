import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { hash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { CheckpointSet } from '../../cli/src/verify/checkpoints.ts';
import { UnreadableInputError } from '../../cli/src/verify/log.ts';
import { type Problem, type Result, verifyLog, type Wanted } from '../../cli/src/verify/verification.ts';
import { signCheckpoint } from '../../server/src/features/audit/checkpoints/checkpoint.ts';
import { PqcKeys } from '../../server/src/features/pqc/index.ts';
import { addTenant, ok, type Tenant } from '../support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../support/service.ts';

const PROGRAM = join(import.meta.dirname, '../../cli/src/verify/main.ts');
type Line = Answer['body'];

/** What an attacker who rewrites a log can do: everything but sign. */
function rechained(lines: Line[], tenantId: string): Line[] {
  const [header, ...entries] = structuredClone(lines);
  let previous: string = header.previous_hash;
  for (const [i, line] of entries.entries()) {
    line.seq = header.first_seq + i;
    line.hash = hash('sha256', `${previous}\n${tenantId}\n${line.seq}\n${JSON.stringify(line.entry)}`, 'hex');
    previous = line.hash;
  }
  return [{ ...header, last_seq: header.first_seq + entries.length - 1, last_hash: previous }, ...entries];
}

async function checkedLog(texts: Iterable<string>, files: unknown[], more: Partial<Wanted>): Promise<Result> {
  const checkpoints = new CheckpointSet();
  const checkpointProblems: Problem[] = [];
  for (const file of files) {
    const text = typeof file === 'string' ? file : JSON.stringify(file);
    checkpoints.add(text, (where, what) => checkpointProblems.push({ where, what }));
  }
  async function* lines() {
    for (const text of texts) yield* text.split('\n');
  }
  return verifyLog(lines(), {
    checkpoints,
    checkpointProblems,
    trusted: new Set(),
    fromSeq: 1,
    tenantId: null,
    ...more,
  });
}

/** Without a network, an environment, or anything of the service beside it. */
function runIn(folder: string, ...arguments_: string[]): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...arguments_], { cwd: folder, env: {} }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), out: stdout + stderr });
    });
  });
}

onBothDatabases('coffer-verify', (database) => {
  let service: Service;
  let tenant: Tenant;
  let otherTenant: Tenant;
  let text: string;
  let lines: Line[];
  let page: Line;
  let otherPage: Line;
  let pages: Line[];
  let keys: PqcKeys;
  /** The key that was noted when the service was set up. */
  let noted: string;

  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
    otherTenant = await addTenant(service);
    for (const { owner } of [tenant, otherTenant]) {
      const { token } = owner;
      for (let round = 0; round < 3; round++) {
        await ok(
          service.call('POST', '/v1/groups', { token, body: { name: `team-${round}`, description: 'Ünïcode' } }),
          201,
        );
        for (let i = 0; i < 3; i++) await ok(service.call('GET', '/v1/groups', { token }));
        await service.call('GET', '/v1/tenants', { token });
        await ok(service.call('POST', '/v1/audit/checkpoints', { token }), 201);
      }
    }
    const { token } = tenant.owner;
    page = await ok(service.call('GET', '/v1/audit/checkpoints', { token }));
    noted = page.keys[0].key_id;
    otherPage = await ok(service.call('GET', '/v1/audit/checkpoints', { token: otherTenant.owner.token }));
    const answer = await service.call('GET', '/v1/audit/export', { token });
    assert.equal(answer.headers.get('content-type'), 'application/x-ndjson');
    text = answer.text;
    lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    pages = [];
    for (let cursor = ''; ; ) {
      const shown = await ok(service.call('GET', `/v1/audit?limit=7${cursor}`, { token }));
      pages.push(shown);
      if (shown.next_cursor === null) break;
      cursor = `&cursor=${shown.next_cursor}`;
    }
    keys = new PqcKeys(service.app.kernel);
  });
  after(() => service.close());

  const check = (texts: Iterable<string>, files: unknown[], more: Partial<Wanted> = {}) =>
    checkedLog(texts, files, { trusted: new Set([noted]), ...more });
  const asText = (all: Line[]) => [`${all.map((line) => JSON.stringify(line)).join('\n')}\n`];
  const problemsOf = async (all: Line[], files: unknown[] = [page], more: Partial<Wanted> = {}) =>
    (await check(asText(all), files, more)).problems.map(({ where, what }) => `${where} ${what}`);
  /** The log with one thing done to it. */
  const logAfter = (change: (copy: Line[]) => Line[] | undefined) => {
    const copy = structuredClone(lines);
    return change(copy) ?? copy;
  };
  const pageAfter = (change: (copy: Line) => void) => {
    const copy = structuredClone(page);
    change(copy);
    return copy;
  };
  const wrongAt = async (all: Line[], seq: number, files?: unknown[]) => {
    const [first] = await problemsOf(all, files);
    assert.ok(first?.startsWith(`entry ${seq} `), `${first} is not of entry ${seq}`);
  };

  test('a whole log fits, as an export and as pages, from the start and from the middle', async () => {
    const newest = page.checkpoints[0];
    const whole = await check([text], [page]);
    assert.deepEqual(whole.problems, []);
    const expected = { tenantId: tenant.id, entries: lines.length - 1, checkpoints: 3, signedSeq: newest.seq };
    assert.deepEqual({ ...whole, ...expected }, whole);
    assert.deepEqual(whole.keyIds, [newest.key_id]);

    const shown = pages.map((one) => JSON.stringify(one)).join('\n');
    const byPages = await check([shown], [page]);
    assert.deepEqual(byPages.problems, []);
    assert.equal(byPages.checkpoints, 3);
    const [pretty] = pages;
    const one = await ok(service.call('GET', '/v1/audit?limit=1000', { token: tenant.owner.token }));
    assert.deepEqual((await check([JSON.stringify(one, null, 2)], [page])).problems, []);
    assert.ok(pretty !== undefined);

    const { token } = tenant.owner;
    const fromSeq = page.checkpoints[1].seq + 2;
    const part = (await service.call('GET', `/v1/audit/export?from_seq=${fromSeq}`, { token })).text;
    const later = await check([part], [page], { fromSeq });
    assert.deepEqual(later.problems, []);
    assert.deepEqual([later.firstSeq, later.checkpoints], [fromSeq, 1]);
  });

  describe('finds in the log', () => {
    test('each field of an entry that was changed', async () => {
      for (let field = 0; field < 16; field++) {
        const changed = logAfter((copy) => {
          const { entry } = copy[4];
          entry[field] = typeof entry[field] === 'number' ? entry[field] + 1 : `${entry[field]}x`;
          return undefined;
        });
        await wrongAt(changed, lines[4].seq);
      }
    });

    test('fields that were added, left out or exchanged', async () => {
      await wrongAt(
        logAfter((copy) => void copy[4].entry.push('')),
        4,
      );
      await wrongAt(
        logAfter((copy) => void copy[4].entry.pop()),
        4,
      );
      await wrongAt(
        logAfter((copy) => void copy[4].entry.reverse()),
        4,
      );
      await wrongAt(
        logAfter((copy) => {
          copy[4].entry = null;
          return undefined;
        }),
        4,
      );
      await wrongAt(
        logAfter((copy) => {
          copy[4].entry = {};
          return undefined;
        }),
        4,
      );
      await wrongAt(
        logAfter((copy) => void delete copy[4].entry),
        4,
      );
    });

    test('a hash that was changed, and an entry that was changed with its hash', async () => {
      await wrongAt(
        logAfter((copy) => {
          copy[4].hash = copy[5].hash;
          return undefined;
        }),
        4,
      );
      const changed = logAfter((copy) => {
        copy[4].entry[6] = 'groups:delete';
        copy[4].hash = rechained(copy, tenant.id)[4].hash;
        return undefined;
      });
      await wrongAt(changed, 5);
    });

    test('an entry that was removed, repeated, inserted or moved', async () => {
      await wrongAt(
        logAfter((copy) => copy.toSpliced(4, 1)),
        4,
      );
      await wrongAt(
        logAfter((copy) => copy.toSpliced(4, 2)),
        4,
      );
      await wrongAt(
        logAfter((copy) => copy.toSpliced(4, 0, copy[4])),
        5,
      );
      await wrongAt(
        logAfter((copy) => copy.toSpliced(4, 2, copy[5], copy[4])),
        4,
      );
      await wrongAt(
        logAfter((copy) => [copy[0], ...copy.slice(1).reverse()]),
        1,
      );
      const renumbered = logAfter((copy) => {
        const rest = copy.toSpliced(4, 1);
        for (const line of rest.slice(4)) line.seq--;
        return rest;
      });
      await wrongAt(renumbered, 4);
    });

    test('that it was rewritten from some entry on, with hashes that fit', async () => {
      const [third, second, first] = page.checkpoints;
      const rewrittenAt = (at: number) =>
        rechained(
          logAfter((copy) => {
            copy[at].entry[6] = 'groups:delete';
            return undefined;
          }),
          tenant.id,
        );
      await wrongAt(rewrittenAt(1), first.seq);
      await wrongAt(rewrittenAt(first.seq), first.seq);
      await wrongAt(rewrittenAt(first.seq + 1), second.seq);
      await wrongAt(rewrittenAt(third.seq), third.seq);
      await wrongAt(
        rechained(
          logAfter((copy) => copy.toSpliced(2, 1)),
          tenant.id,
        ),
        first.seq,
      );
      await wrongAt(
        rechained(
          logAfter((copy) => copy.toSpliced(2, 0, structuredClone(copy[2]))),
          tenant.id,
        ),
        first.seq,
      );
    });

    test('that its end was cut off, also where its first line was made to fit', async () => {
      await wrongAt(lines.slice(0, -1), lines.length - 1);
      const [newest] = page.checkpoints;
      const short = rechained(lines.slice(0, newest.seq), tenant.id);
      const [problem] = await problemsOf(short);
      assert.match(problem ?? '', new RegExp(`^entry ${newest.seq} is missing, which checkpoint 3 covers`));
      await wrongAt(lines.slice(0, 1), 1);
    });

    test('that its beginning was cut off', async () => {
      const { seq } = lines[4];
      const cut = logAfter((copy) => [
        { ...copy[0], first_seq: seq + 1, previous_hash: copy[4].hash },
        ...copy.slice(5),
      ]);
      assert.match((await problemsOf(cut)).join(), new RegExp(`the log starts with entry ${seq + 1}, not with 1`));
      assert.deepEqual(await problemsOf(cut, [page], { fromSeq: seq + 1 }), []);
      const forged = cut.with(0, { ...cut[0], previous_hash: 'f'.repeat(64) });
      assert.match((await problemsOf(forged, [page], { fromSeq: seq + 1 })).join(), /^entry 5 was changed/);
    });

    test('that it is another tenant’s, or said to be', async () => {
      assert.notDeepEqual(await problemsOf(lines, [otherPage]), []);
      const renamed = logAfter((copy) => {
        copy[0].tenant_id = otherTenant.id;
        return undefined;
      });
      assert.notDeepEqual(await problemsOf(renamed), []);
      assert.notDeepEqual(await problemsOf(renamed, [otherPage]), []);
      assert.notDeepEqual(await problemsOf(lines, [page], { tenantId: otherTenant.id }), []);
    });

    test('lines that are none', async () => {
      for (const noise of [
        'noise',
        'null',
        '[]',
        '{}',
        '{"seq": "4", "hash": ""}',
        '{"seq": 4.5, "hash": ""}',
        '"x"',
      ]) {
        const all = text.trimEnd().split('\n');
        const { problems } = await check([all.toSpliced(4, 0, noise).join('\n')], [page]);
        assert.deepEqual(problems, [{ where: 'line 5', what: 'is not a log entry' }], noise);
      }
    });

    test('a letter that was changed anywhere', async () => {
      const letters = fc.constantFrom('0', '7', 'a', 'f', 'Z', '"', ',', ' ', '\n', '\u0000', 'é');
      await fc.assert(
        fc.asyncProperty(fc.nat(text.length - 1), letters, async (at, letter) => {
          const changed = `${text.slice(0, at)}${letter}${text.slice(at + 1)}`;
          const told = await check([changed], [page]).catch((error) => {
            assert.ok(error instanceof UnreadableInputError, String(error));
            return null;
          });
          if (told === null || told.problems.length > 0) return;
          const meant = changed
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line));
          assert.deepEqual(meant, lines, 'it means something else and was not found');
        }),
        { numRuns: 250 },
      );
    });
  });

  describe('finds in the checkpoints', () => {
    test('each field that was changed', async () => {
      const changes: [string, unknown][] = [
        ['id', 7],
        ['tenant_id', otherTenant.id],
        ['seq', page.checkpoints[1].seq + 1],
        ['hash', 'f'.repeat(64)],
        ['signed_at', '2020-01-01T00:00:00.000Z'],
        ['key_id', 'rsa-pss-3072-0000'],
        ['signature', ''],
        ['signature', page.checkpoints[0].signature],
        ['signature', 'noise'],
        ['seq', '5'],
        ['hash', null],
        ['signed_at', 'yesterday'],
      ];
      for (const [field, value] of changes) {
        const files = [
          pageAfter((copy) => {
            copy.checkpoints[1][field] = value;
            return undefined;
          }),
        ];
        assert.notDeepEqual(await problemsOf(lines, files), [], `${field}: ${value}`);
      }
    });

    test('which half of a signature does not hold', async () => {
      const spoiled = (at: number) =>
        pageAfter(({ checkpoints }) => {
          const bytes = Buffer.from(checkpoints[1].signature, 'base64');
          bytes[at] = (bytes[at] ?? 0) ^ 1;
          checkpoints[1].signature = bytes.toString('base64');
        });
      assert.deepEqual(await problemsOf(lines, [spoiled(3)]), [
        'checkpoint 2 has an invalid signature: ML-DSA does not verify',
      ]);
      assert.deepEqual(await problemsOf(lines, [spoiled(3500)]), [
        'checkpoint 2 has an invalid signature: RSA-PSS does not verify',
      ]);
    });

    test('a key that is missing, exchanged or altered', async () => {
      assert.match(
        (
          await problemsOf(lines, [
            pageAfter((copy) => {
              copy.keys = [];
              return undefined;
            }),
          ])
        ).join(),
        /in none of the files/,
      );
      const altered = pageAfter(({ keys: [key] }) => {
        const bytes = Buffer.from(key.public_key, 'base64');
        bytes[9] = (bytes[9] ?? 0) ^ 1;
        key.public_key = bytes.toString('base64');
      });
      assert.match((await problemsOf(lines, [altered])).join(), /has a public key that does not match its id/);
      const noise = pageAfter((copy) => void copy.keys.push({ key_id: 7 }));
      assert.match((await problemsOf(lines, [noise])).join(), /a key is malformed/);
    });

    test('that the service signed two histories, or went back', async () => {
      const [newest] = page.checkpoints;
      const row = {
        tenant_id: tenant.id,
        checkpoint_no: newest.id,
        seq: newest.seq,
        hash: randomBytes(32),
        signed_at: Date.parse(newest.signed_at),
      };
      const wire = ({ checkpoint_no, hash: bytes, signed_at, key_id, signature }: Line, seq: number) => ({
        id: checkpoint_no,
        tenant_id: tenant.id,
        seq,
        hash: Buffer.from(bytes).toString('hex'),
        signed_at: new Date(signed_at).toISOString(),
        key_id,
        signature: Buffer.from(signature).toString('base64'),
      });
      const other = wire(await signCheckpoint(keys, row), row.seq);
      assert.match(
        (await problemsOf(lines, [page, other])).join(),
        /checkpoint 3 was given twice, with different content/,
      );
      const back = { ...row, checkpoint_no: 4, seq: 2, hash: Buffer.from(lines[2].hash, 'hex') };
      const shorter = wire(await signCheckpoint(keys, back), 2);
      assert.match((await problemsOf(lines, [page, shorter])).join(), /checkpoint 4 covers less than checkpoint 3/);
    });

    test('the same ones given twice are the same, and some of them will do', async () => {
      assert.deepEqual(await problemsOf(lines, [page, page, page.checkpoints[0]]), []);
      const some = pageAfter((copy) => void copy.checkpoints.splice(1, 1));
      assert.deepEqual(await problemsOf(lines, [some]), []);
    });
  });

  test('a log forged with a self-made key never passes, whether no key, the right one or an empty one is named', async () => {
    const theirService = await startService('sqlite');
    const theirKeys = new PqcKeys(theirService.app.kernel);
    const forged = rechained(
      logAfter((copy) => {
        copy[4].entry[6] = 'groups:delete';
        return undefined;
      }),
      tenant.id,
    );
    const last = forged.at(-1);
    const row = {
      tenant_id: tenant.id,
      checkpoint_no: 1,
      seq: last.seq,
      hash: Buffer.from(last.hash, 'hex'),
      signed_at: 1,
    };
    const signed = await signCheckpoint(theirKeys, row);
    const key = await theirKeys.newest('system', 'rsa-pss-3072+ml-dsa-65');
    const { key_id } = signed;
    const file = {
      checkpoints: [
        {
          id: 1,
          tenant_id: tenant.id,
          seq: last.seq,
          hash: last.hash,
          signed_at: new Date(1).toISOString(),
          key_id,
          signature: Buffer.from(signed.signature).toString('base64'),
        },
      ],
      keys: [{ key_id, public_key: key.publicKey.toString('base64') }],
    };
    for (const trusted of [new Set<string>(), new Set([noted]), new Set([''])]) {
      const result = await check(asText(forged), [file], { trusted });
      assert.match(result.problems.map(({ what }) => what).join(), /neither a key given with --key nor a successor/);
      assert.deepEqual([result.checkpoints, result.signedSeq, result.keyIds], [0, 0, []]);
    }
    const endorsed = {
      ...file,
      keys: [{ ...file.keys[0], endorsed_by: noted, endorsement: Buffer.from(signed.signature).toString('base64') }],
    };
    assert.notDeepEqual(await problemsOf(forged, [endorsed, { keys: page.keys }]), [], 'it vouches for itself');
    assert.deepEqual(await problemsOf(lines, [page]), []);
    const folder = mkdtempSync(join(tmpdir(), 'coffer-verify-'));
    writeFileSync(join(folder, 'log'), asText(forged).join(''));
    writeFileSync(join(folder, 'checkpoints'), JSON.stringify(file));
    const files = ['--log', 'log', '--checkpoints', 'checkpoints'];
    for (const [arguments_, expected] of [
      [files, 2],
      [[...files, '--chain-only'], 2],
      [['--log', 'log', '--chain-only'], 2],
      [[...files, '--key', ''], 2],
      [[...files, '--key', noted], 1],
    ] as const) {
      const { code, out } = await runIn(folder, ...arguments_);
      assert.equal(code, expected, out);
      assert.doesNotMatch(out, /^OK$/m);
    }
    rmSync(folder, { recursive: true });
    await theirService.close();
  });

  test('who noted a key follows to its successors, by the word of each before', async () => {
    const token = otherTenant.owner.token;
    const { kernel } = service.app;
    for (let year = 1; year <= 2; year++) {
      await kernel.database.transaction(async (tx) => {
        await tx.updateTable('pqc_keys').set({ created_at: 0 }).where('tenant_id', '=', 'system').execute();
      });
      await ok(service.call('GET', '/v1/groups', { token }));
      await ok(service.call('POST', '/v1/audit/checkpoints', { token }), 201);
    }
    const later = await ok(service.call('GET', '/v1/audit/checkpoints', { token }));
    const ids = later.keys.map((key: Line) => key.key_id);
    assert.deepEqual([ids.length, ids.at(-1)], [3, noted]);
    assert.equal((await ok(service.call('GET', '/v1/audit/verify', { token }))).valid, true);
    const log = (await service.call('GET', '/v1/audit/export', { token })).text;
    const trusting = async (key: string, file: Line = later) => {
      const { problems } = await check([log], [file], { trusted: new Set([key]) });
      return problems.map(({ where }) => where);
    };
    assert.deepEqual(await trusting(noted), []);
    assert.deepEqual(await trusting(ids[1]), ['checkpoint 1', 'checkpoint 2', 'checkpoint 3'], 'not to those before');
    const [newest, between] = later.keys;
    const spoiled = [
      { ...newest, endorsement: between.endorsement },
      { ...newest, endorsement: later.checkpoints[1].signature },
      { ...newest, endorsed_by: noted },
      { ...newest, endorsement: null },
    ];
    for (const key of spoiled) {
      assert.deepEqual(await trusting(noted, { ...later, keys: [key, between, later.keys[2]] }), ['checkpoint 5']);
    }
  });

  describe('the program', () => {
    let folder: string;
    before(() => {
      folder = mkdtempSync(join(tmpdir(), 'coffer-verify-'));
      const keep = (name: string, content: string) => writeFileSync(join(folder, name), content);
      keep('log', text);
      keep('checkpoints', JSON.stringify(page));
      keep('changed', text.replace('groups:create', 'groups:delete'));
      keep('none', JSON.stringify({ checkpoints: [], keys: page.keys, next_cursor: null }));
      keep('empty', '');
    });
    after(() => rmSync(folder, { recursive: true }));

    const run = (...arguments_: string[]) => runIn(folder, ...arguments_);
    const another = `rsa-pss-3072-${'0'.repeat(40)}`;

    test('says that all is well, and by whose signature', async () => {
      const { code, out } = await run('--log', 'log', '--checkpoints', 'checkpoints', '--key', noted);
      assert.equal(code, 0, out);
      assert.match(out, new RegExp(`Signed by ${noted}\\.\n`));
      assert.match(out, /\nOK\n$/);
      const several = await run('--log', 'log', '--checkpoints', 'checkpoints', '--key', another, '--key', noted);
      assert.equal(several.code, 0, several.out);
    });

    test('demands the key, and says where it must come from', async () => {
      const { code, out } = await run('--log', 'log', '--checkpoints', 'checkpoints');
      assert.equal(code, 2);
      assert.match(
        out,
        /^coffer-verify: --key is missing: .*noted from GET \/v1\/audit\/checkpoints when the service was set up/,
      );
      assert.match(out, /taken from the files being verified proves nothing/);
      assert.doesNotMatch(out, new RegExp(noted), 'it does not offer the key of the file');
    });

    test('a chain that is whole is not called verified', async () => {
      const { code, out } = await run('--log', 'log', '--chain-only');
      assert.equal(code, 2);
      assert.match(out, /\nThe chain is intact, but NOT VERIFIED: no checkpoint was checked\.\n$/);
    });

    test('says what is wrong and ends with 1', async () => {
      const { code, out } = await run('--log', 'changed', '--checkpoints', 'checkpoints', '--key', noted);
      assert.equal(code, 1);
      assert.match(out, /^WRONG: entry \d+ was changed/);
      assert.match(out, /NOT OK\n$/);
      assert.equal((await run('--log', 'log', '--checkpoints', 'checkpoints', '--key', another)).code, 1);
      assert.equal((await run('--log', 'changed', '--chain-only')).code, 1);
    });

    test('ends with 2 if it cannot tell', async () => {
      const unable = [
        [],
        ['--log', 'log'],
        ['--nonsense'],
        ['--log', 'log', '--key', noted],
        ['--log', 'log', '--checkpoints', 'nowhere', '--key', noted],
        ['--log', 'nowhere', '--checkpoints', 'checkpoints', '--key', noted],
        ['--log', 'empty', '--checkpoints', 'checkpoints', '--key', noted],
        ['--log', 'log', '--checkpoints', 'none', '--key', noted],
        ['--log', 'log', '--checkpoints', 'checkpoints', '--key', noted, '--from-seq', '0'],
        ['--log', 'log', '--checkpoints', 'checkpoints', '--key', 'another'],
        ['--log', 'log', '--checkpoints', 'checkpoints', '--key', noted.toUpperCase()],
        ['--log', 'log', '--checkpoints', 'checkpoints', '--key', noted, '--chain-only'],
      ];
      for (const arguments_ of unable) {
        const { code, out } = await run(...arguments_);
        assert.equal(code, 2, arguments_.join(' '));
        assert.doesNotMatch(out, /^OK$/m);
      }
      assert.equal((await run('--help')).code, 0);
    });
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { DOCKER_READER, DOTENV_READERS } from '../../../../test/support/env-readers.ts';
import { addPerson, invalid, ok, refused, tooLarge, uniqueName } from '../../../../test/support/people.ts';
import { asTheService } from '../../../../test/support/rows.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import {
  addPolicy,
  addSecret,
  addVault,
  auditOf,
  importPaths,
  pathsIn,
  readValue,
  secretUrl,
} from '../../../../test/support/vaults.ts';
import { newId } from '../../kernel/base/ids.ts';
import { SECRETS } from '../secrets/storage/index.ts';

onBothDatabases('import and export', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const bring = (vault: string, body: object, token = service.adminToken) =>
    service.call('POST', `/v1/vaults/${vault}/import`, { token, body });
  const take = (vault: string, query = '', token = service.adminToken) =>
    service.call('GET', `/v1/vaults/${vault}/export?${query}`, { token });
  const versionOf = async (vault: string, path: string) =>
    (await ok(service.call('GET', secretUrl(vault, path)))).version as number;

  describe('import', () => {
    test('makes what is new, changes what differs, leaves what is the same, and says so in the order of paths', async () => {
      const vault = await addVault(service);
      await addSecret(service, vault, 'same', { value: 'one' });
      await addSecret(service, vault, 'other', { value: 'one', type: 'password', metadata: { tags: ['kept'] } });
      const answer = await ok(bring(vault, { secrets: { 'z/new': 'n', same: 'one', other: 'two' }, type: 'api_key' }));
      assert.deepEqual(answer, {
        dry_run: false,
        created: 1,
        updated: 1,
        unchanged: 1,
        skipped: 0,
        changes: [
          { path: 'other', change: 'update', version: 2 },
          { path: 'same', change: 'unchanged', version: 1 },
          { path: 'z/new', change: 'create', version: 1 },
        ],
        warnings: [],
        problems: [],
      });
      const other = await ok(service.call('GET', secretUrl(vault, 'other')));
      assert.deepEqual([other.value, other.type, other.metadata], ['two', 'password', { tags: ['kept'] }]);
      const made = await ok(service.call('GET', secretUrl(vault, 'z/new')));
      assert.deepEqual([made.type, made.environment, made.value], ['api_key', 'staging', 'n']);
      assert.equal((await ok(service.call('GET', `/v1/vaults/${vault}`))).secrets_count, 3);
      const { versions } = await ok(service.call('GET', secretUrl(vault, 'other', 'versions')));
      assert.deepEqual([versions[0].operation, versions[0].reason], ['update', 'imported']);
    });

    test('goes on beside writes to the same vault, and plans again what they created first', async () => {
      const vault = await addVault(service);
      const paths = Array.from({ length: 150 }, (_, i) => `p${String(i).padStart(3, '0')}`);
      const importing = bring(vault, { secrets: Object.fromEntries(paths.map((path) => [path, 'imported'])) });
      const creating = paths
        .toReversed()
        .slice(0, 40)
        .map((path) => service.call('POST', `/v1/vaults/${vault}/secrets`, { body: { path, value: 'created' } }));
      const { created, updated } = await ok(importing);
      const answers = await Promise.all(creating);
      for (const { status, text } of answers) assert.ok([201, 409].includes(status), text);
      assert.equal(created + updated, 150);
      assert.equal(updated <= answers.filter(({ status }) => status === 201).length, true);
      assert.equal((await ok(service.call('GET', `/v1/vaults/${vault}`))).secrets_count, 150);
      const values = Object.values(await ok(take(vault)));
      assert.deepEqual([values.length, new Set(values)], [150, new Set(['imported'])]);
    });

    test('into a vault that is deleted meanwhile adds nothing', async () => {
      const vault = await addVault(service);
      const secrets = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`p${i}`, 'x']));
      const [imported, deleted] = await Promise.all([
        bring(vault, { secrets }),
        service.call('DELETE', `/v1/vaults/${vault}`),
      ]);
      assert.ok([200, 404].includes(imported.status), imported.text);
      assert.ok(deleted.status < 300, deleted.text);
      const [row] = await service.app.kernel.database.read
        .selectFrom('vaults')
        .select((eb) => [
          'secrets_count',
          eb
            .selectFrom('secrets')
            .select((e) => e.fn.countAll<number>().as('n'))
            .whereRef('secrets.vault_id', '=', 'vaults.vault_id')
            .as('stored'),
        ])
        .where('name', '=', vault)
        .execute();
      assert.equal(Number(row?.stored), imported.status === 200 ? 300 : 0);
      assert.equal(row?.secrets_count, Number(row?.stored));
    });

    rule('of a .env file takes its names as paths, below a prefix', async () => {
      const vault = await addVault(service);
      const dotenv = `# shop\nexport DB_URL="postgres://u:p@h/d?x=1#y"\nBLANK=' '\nEMPTY=\nMULTI='a\nb'\nplain=x # note\n`;
      const answer = await ok(bring(vault, { dotenv, prefix: 'shop/env' }));
      assert.equal(answer.created, 5);
      assert.deepEqual(await ok(take(vault)), {
        'shop/env/BLANK': ' ',
        'shop/env/DB_URL': 'postgres://u:p@h/d?x=1#y',
        'shop/env/EMPTY': '',
        'shop/env/MULTI': 'a\nb',
        'shop/env/plain': 'x',
      });
    });

    rule('of a .env file takes what people have, and says what they may have meant otherwise', async () => {
      const vault = await addVault(service);
      const dotenv = [
        ...['spring.datasource-url=a', 'EMPTY=', '2FA=b', 'TICKS=`it\'s "c"`', 'TWICE=1', `URL=https://\${HOST}/$PORT`],
        ...[`TWICE=\${URL}`, `LITERAL='\${HOST}'`, 'TWICE=2', 'LAST="two', 'lines"'],
      ];
      const warnings = [
        {
          code: 'repeated_key',
          message: 'An earlier line has the same key; this last one is used.',
          path: 'shop/TWICE',
          line: 9,
        },
        {
          code: 'unexpanded_variable',
          message: 'A shell would expand the text after $; it was imported literally.',
          path: 'shop/URL',
          line: 6,
        },
      ];
      for (const [i, lineEnd] of ['\n', '\r\n', '\r'].entries()) {
        const body = { dotenv: dotenv.join(lineEnd), prefix: i === 0 ? 'shop' : 'shop/' };
        assert.deepEqual((await ok(bring(vault, { ...body, dry_run: true }))).warnings, warnings);
        const answer = await ok(bring(vault, body));
        assert.deepEqual(
          [answer.created, answer.unchanged, answer.warnings],
          i === 0 ? [8, 0, warnings] : [0, 8, warnings],
        );
      }
      assert.deepEqual(await ok(take(vault)), {
        'shop/2FA': 'b',
        'shop/EMPTY': '',
        'shop/LAST': 'two\nlines',
        'shop/LITERAL': `\${HOST}`,
        'shop/TICKS': 'it\'s "c"',
        'shop/TWICE': '2',
        'shop/URL': `https://\${HOST}/$PORT`,
        'shop/spring.datasource-url': 'a',
      });
      const json = await ok(bring(vault, { secrets: { 'in/json': `\${HOST}` }, prefix: 'versions/' }));
      assert.deepEqual([json.changes[0].path, json.warnings], ['versions/in/json', []]);
    });

    rule('tried first, tells exactly what it then does, and writes nothing', async () => {
      const vault = await addVault(service);
      await addSecret(service, vault, 'a', { value: '1' });
      await addSecret(service, vault, 'b', { value: '1' });
      const secrets = { a: '1', b: '2', c: '3' };
      for (const on_existing of ['skip', 'update'] as const) {
        const before = await ok(take(vault));
        const tried = await ok(bring(vault, { secrets, on_existing, dry_run: true }));
        assert.deepEqual(await ok(take(vault)), before);
        assert.deepEqual(await ok(bring(vault, { secrets, on_existing })), { ...tried, dry_run: false });
      }
      assert.deepEqual(await ok(take(vault)), secrets);
      const versions = [await versionOf(vault, 'a'), await versionOf(vault, 'b'), await versionOf(vault, 'c')];
      assert.deepEqual(versions, [1, 2, 1]);
      const skipped = await ok(bring(vault, { secrets: { ...secrets, b: '9', d: '4' }, on_existing: 'skip' }));
      assert.deepEqual([skipped.created, skipped.skipped, skipped.updated], [1, 3, 0]);
      assert.equal(await readValue(service, vault, 'b'), '2');
      const entries = await auditOf(service, `vault=${vault}&action=secrets:import`);
      assert.equal(entries.filter((entry) => entry.details.dry_run === true).length, 2);
    });

    test('is all or nothing, whichever entry is bad', async () => {
      const vault = await addVault(service);
      await addSecret(service, vault, 'there', { type: 'json', value: '{}' });
      const bad: [object, string][] = [
        [{ secrets: { a: 'x', 'b//c': 'x', z: 'x' } }, '/body/secrets/b~1~1c'],
        [{ secrets: { a: 'x', 'b c': 'x' } }, '/body/secrets/?'],
        [{ secrets: { a: 'x', 'b/rotate': 'x' } }, '/body/secrets/b~1rotate'],
        [{ secrets: { a: 'x', b: '' }, type: 'password' }, '/body/secrets/b'],
        [{ secrets: { a: 'x', there: 'not json' } }, '/body/secrets/there'],
        [{ secrets: { a: '{}', b: 'not json' }, type: 'json' }, '/body/secrets/b'],
        [{ secrets: { a: 'x', b: 1 } }, '/body/secrets/b'],
        [{ dotenv: 'A=1\nB' }, '/body/dotenv/line/2'],
        [{ dotenv: 'A=1\nB=2\n..=3' }, '/body/dotenv/line/3'],
        [{ dotenv: 'A=1\nversions=2' }, '/body/dotenv/line/2'],
        ...['', '/', '/p', 'p//', 'p/../q', 'p q'].map((prefix): [object, string] => [
          { secrets: { a: 'x' }, prefix },
          '/body/prefix',
        ]),
      ];
      for (const [body, pointer] of bad) {
        await invalid(bring(vault, body), pointer);
        await invalid(bring(vault, { ...body, dry_run: true }), pointer);
      }
      for (const b of ['y'.repeat(1024 * 1024 + 1), '€'.repeat(512 * 1024)])
        await tooLarge(bring(vault, { secrets: { a: 'x', b } }), '/body/secrets/b');
      const fail = { secrets: { a: 'x', there: '[]', z: 'x' }, on_existing: 'fail' };
      await refused(bring(vault, fail), 409, 'SECRET_ALREADY_EXISTS');
      await refused(bring(vault, { ...fail, dry_run: true }), 409, 'SECRET_ALREADY_EXISTS');
      const twice = '{"secrets":{"a":"1","a":"2"}}';
      const answer = service.call('POST', `/v1/vaults/${vault}/import`, { body: twice });
      await refused(answer, 400, 'INVALID_REQUEST');
      assert.deepEqual(await pathsIn(service, vault), ['there']);
      assert.equal(await versionOf(vault, 'there'), 1);
    });

    rule('needs exactly one source with something in it', async () => {
      const vault = await addVault(service);
      for (const body of [{}, { secrets: { a: 'x' }, dotenv: 'A=1' }, { secrets: {} }, { dotenv: '# nothing\n' }]) {
        await invalid(bring(vault, body), '/body');
      }
      await invalid(bring(vault, { secrets: { a: 'x' }, on_existing: 'merge' }), '/body/on_existing');
      await invalid(bring(vault, { secrets: { a: 'x' }, values: {} }), '/body/values');
      await refused(bring('no-such-vault', { secrets: { a: 'x' } }), 404, 'VAULT_NOT_FOUND');
    });

    rule('takes a thousand entries, and not one more', async () => {
      const vault = await addVault(service);
      const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, `v${i}`]));
      await invalid(bring(vault, { secrets: many(1001) }), '/body/secrets');
      const lines = Object.entries(many(1001)).map(([key, value]) => `${key}=${value}\n`);
      await invalid(bring(vault, { dotenv: lines.join('') }), '/body/dotenv/line/1001');
      assert.equal((await ok(bring(vault, { secrets: many(1000) }))).created, 1000);
      const again = await ok(bring(vault, { dotenv: lines.slice(0, 1000).join('') }));
      assert.deepEqual([again.unchanged, again.updated], [1000, 0]);
      assert.equal((await ok(service.call('GET', `/v1/vaults/${vault}`))).secrets_count, 1000);
    });

    rule('obeys the rules of environments', async () => {
      const vault = await addVault(service, { environment: 'production' });
      const secrets = { a: 'x' };
      await refused(bring(vault, { secrets }), 409, 'VAULT_ENV_PROMOTE_REQUIRED');
      await refused(bring(vault, { secrets, environment: 'stg' }), 409, 'VAULT_ENV_CONFLICT');
      await ok(bring(vault, { secrets, promote: true }));
      await ok(bring(vault, { secrets: { b: 'x' }, environment: 'prd' }));
      const { versions } = await ok(service.call('GET', secretUrl(vault, 'a', 'versions')));
      assert.equal(versions[0].operation, 'promote');
      await ok(bring(vault, { secrets: { a: 'y' } }));
    });

    rule('tells that a value is the same only to who may read it', async () => {
      const vault = await addVault(service);
      await addSecret(service, vault, 'pin', { value: '1234' });
      const guesser = await addPerson(service);
      await addPolicy(service, { user: guesser.id }, [
        { action: ['secrets:import', 'secrets:update', 'secrets:create'], resource: [`vault/${vault}/**`] },
      ]);
      const guess = async (value: string, more = {}) =>
        ok(bring(vault, { secrets: { pin: value }, ...more }, guesser.token));
      const [right, wrong] = [await guess('1234', { dry_run: true }), await guess('9999', { dry_run: true })];
      assert.deepEqual(right, wrong);
      assert.deepEqual(right.changes, [{ path: 'pin', change: 'update', version: 2 }]);
      assert.deepEqual((await guess('1234')).changes, [{ path: 'pin', change: 'update', version: 2 }]);
      assert.equal(await versionOf(vault, 'pin'), 2);
      assert.equal((await ok(bring(vault, { secrets: { pin: '1234' } }))).unchanged, 1);
    });

    rule('needs the right to each path, and names the one it was refused for in the log alone', async () => {
      const vault = await addVault(service);
      await addSecret(service, vault, 'mine/old');
      const person = await addPerson(service);
      const on = `vault/${vault}`;
      await addPolicy(service, { user: person.id }, [
        { action: ['secrets:import'], resource: [on] },
        { action: ['secrets:create', 'secrets:update'], resource: [`${on}/mine/**`] },
        { effect: 'deny', action: ['secrets:update'], resource: [`${on}/mine/old`] },
      ]);
      await ok(bring(vault, { secrets: { 'mine/a': 'x' } }, person.token));
      const tries = [
        { 'mine/b': 'x', 'theirs/c': 'x' },
        { 'mine/b': 'x', 'mine/old': 'x' },
      ];
      for (const secrets of tries) {
        await refused(bring(vault, { secrets }, person.token), 403, 'INSUFFICIENT_PRIVILEGE');
        await refused(bring(vault, { secrets, dry_run: true }, person.token), 403, 'INSUFFICIENT_PRIVILEGE');
      }
      const [entry] = await auditOf(service, `vault=${vault}&decision=deny`);
      assert.equal(entry.details.refused, `${on}/mine/old`);
      assert.deepEqual(await pathsIn(service, vault), ['mine/a', 'mine/old']);
      const stranger = await addPerson(service);
      await refused(bring(vault, { secrets: { a: 'x' } }, stranger.token), 403, 'INSUFFICIENT_PRIVILEGE');
    });

    rule('tells nothing of a path that may neither be made nor changed', async () => {
      const vault = await addVault(service);
      await addSecret(service, vault, 'there');
      const person = await addPerson(service);
      await addPolicy(service, { user: person.id }, [{ action: ['secrets:import'], resource: [`vault/${vault}`] }]);
      for (const more of [{}, { environment: 'production' }]) {
        const answers = [];
        for (const path of ['there', 'not-there']) {
          const body = { secrets: { [path]: 'x' }, dry_run: true, ...more };
          const error = await refused(bring(vault, body, person.token), 403, 'INSUFFICIENT_PRIVILEGE');
          answers.push(error.message);
        }
        assert.equal(answers[0], answers[1]);
      }
    });

    rule('is recorded whole, and for each secret it made or changed', async () => {
      const vault = await addVault(service);
      const old = await addSecret(service, vault, 'old');
      await addSecret(service, vault, 'same', { value: 's' });
      await ok(bring(vault, { secrets: { new: 'n', old: 'o', same: 's' } }));
      const [whole] = await auditOf(service, `vault=${vault}&action=secrets:import`);
      assert.deepEqual(whole.details, { created: 1, updated: 1, unchanged: 1, skipped: 0 });
      const each = (await auditOf(service, `vault=${vault}`)).filter((entry) => entry.details?.via === 'import');
      assert.deepEqual(
        each.map((entry) => [entry.action, entry.resource, entry.details.version, entry.request_id]).sort(),
        [
          ['secrets:create', `vault/${vault}/new`, 1, whole.request_id],
          ['secrets:update', `vault/${vault}/old`, 2, whole.request_id],
        ],
      );
      assert.equal(each.find((entry) => entry.action === 'secrets:update')?.details.secret, old.id);
    });

    test('with the same Idempotency-Key happens once', async () => {
      const vault = await addVault(service);
      const headers = { 'idempotency-key': uniqueName('import') };
      const send = () => service.call('POST', `/v1/vaults/${vault}/import`, { headers, body: { secrets: { a: 'x' } } });
      const [first, second] = [await ok(send()), await ok(send())];
      assert.deepEqual([first.created, second], [1, first]);
    });
  });

  describe('export', () => {
    test('as JSON is what was imported, and can be imported elsewhere', async () => {
      const vault = await addVault(service);
      const values = { 'a/b': 'x', 'a/c': '"quoted"\n\0\u2028', b: '€🔑', A: ' ', a: '{}' };
      await ok(bring(vault, { secrets: values }));
      const answer = await take(vault);
      assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
      assert.deepEqual(await ok(Promise.resolve(answer)), values);
      const other = await addVault(service);
      await ok(bring(other, { secrets: answer.body }));
      assert.deepEqual(await ok(take(other)), values);
      assert.deepEqual(await ok(take(vault, 'prefix=a/')), { 'a/b': 'x', 'a/c': values['a/c'] });
      assert.deepEqual(await ok(take(await addVault(service))), {});
    });

    rule('as .env is what was imported, to a shell and to libraries', async () => {
      const vault = await addVault(service);
      const dotenv = `A=x\nB_2=\nJSON='{"a": "$HOME #1"}'\n_c='two\nlines '\nd="it's = é 🔑"\n`;
      const values = { A: 'x', B_2: '', JSON: '{"a": "$HOME #1"}', _c: 'two\nlines ', d: "it's = é 🔑" };
      await ok(bring(vault, { dotenv }));
      const answer = await take(vault, 'format=dotenv');
      assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'text/plain; charset=utf-8']);
      for (const reader of DOTENV_READERS.filter(({ skip }) => skip === false)) {
        assert.deepEqual(reader.read([answer.text]), [values], reader.name);
      }
      assert.equal((await take(await addVault(service), 'format=dotenv')).text, '');
    });

    rule('for Docker has each value as it is, to the end of its line', async () => {
      const vault = await addVault(service);
      const values = { A: '', B: ` '"\\ \${X} #1 `, C: "it's $5" };
      await ok(bring(vault, { secrets: values }));
      const answer = await take(vault, 'format=docker');
      assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'text/plain; charset=utf-8']);
      assert.equal(answer.text, `A=\nB= '"\\ \${X} #1 \nC=it's $5\n`);
      assert.deepEqual(DOCKER_READER.read([answer.text]), [values]);
    });

    rule('names paths as programs like them, and refuses two of one name', async () => {
      const vault = await addVault(service);
      await ok(bring(vault, { secrets: { 'db/password': 'p', 'api-key.v2': 'k', '1st': 'f' } }));
      for (const format of ['dotenv', 'docker']) {
        const { text } = await take(vault, `format=${format}`);
        assert.deepEqual(text.split('\n').sort(), ['', 'API_KEY_V2=k', 'DB_PASSWORD=p', '_1ST=f']);
      }
      await addSecret(service, vault, 'db.password');
      for (const format of ['dotenv', 'docker', 'yaml'])
        await invalid(take(vault, `format=${format}`), '/query/format');
      await ok(take(vault));
    });

    rule('for shells has each value in quotes, and gives no path the name of what loads code', async () => {
      const vault = await addVault(service);
      await ok(
        bring(vault, {
          secrets: { 'quo/tes': `hush's "x"`, 'ld/preload': '/tmp/x.so', PROMPT_COMMAND: 'touch /tmp/x' },
        }),
      );
      assert.equal((await take(vault, 'format=shell&prefix=quo/')).text, `export QUO_TES='hush'\\''s "x"'\n`);
      const { details } = await refused(take(vault, 'format=shell&prefix=ld/'), 422, 'VALIDATION_FAILED');
      assert.match(details.fields[0].reason, /ld\/preload would become LD_PRELOAD/);
      assert.deepEqual(details.permit, ['LD_PRELOAD'], 'for a program that asks somebody');
      // Anyone who writes a secret chooses its path, so an exact name says nothing about whom it is read by.
      for (const format of ['shell', 'dotenv', 'docker']) {
        const exact = await refused(take(vault, `format=${format}&prefix=PROMPT`), 422, 'VALIDATION_FAILED');
        assert.match(exact.details.fields[0].reason, /PROMPT_COMMAND would become .* permit=PROMPT_COMMAND/);
        assert.doesNotMatch(JSON.stringify(exact), /touch/);
        await refused(take(vault, `format=${format}&prefix=PROMPT&permit=prompt_command`), 422, 'VALIDATION_FAILED');
        await refused(take(vault, `format=${format}&prefix=PROMPT&permit=LD_PRELOAD`), 422, 'VALIDATION_FAILED');
      }
      const permitted = await take(vault, 'format=shell&prefix=PROMPT&permit=PROMPT_COMMAND');
      assert.equal(permitted.text, "export PROMPT_COMMAND='touch /tmp/x'\n");
      assert.equal((await take(vault, 'format=dotenv&prefix=ld/&permit=LD_PRELOAD')).text, 'LD_PRELOAD=/tmp/x.so\n');
      assert.equal((await ok(take(vault, 'format=json')))['PROMPT_COMMAND'], 'touch /tmp/x');
      const others = ['git/ssh-command', 'https/proxy', 'https_proxy', 'npm/config/script-shell', 'NODE_OPTIONS'];
      for (const path of others) {
        const own = await addVault(service);
        await ok(bring(own, { secrets: { [path]: 'x' } }));
        for (const format of ['shell', 'dotenv', 'docker'])
          await refused(take(own, `format=${format}`), 422, 'VALIDATION_FAILED');
      }
    });

    rule('refuses by its path what its readers would not read alike, and then tells nothing', async () => {
      const vault = await addVault(service);
      const unreadable = { 'bin/nul': 'hush\0b', 'bin/cr': 'hush\r\nb', 'quo/tes': `hush's "x"` };
      await ok(bring(vault, { secrets: { fine: 'x', ...unreadable } }));
      const pathsRefused = async (format: string, prefix: string) => {
        const error = await refused(take(vault, `format=${format}&prefix=${prefix}`), 422, 'VALIDATION_FAILED');
        assert.doesNotMatch(JSON.stringify(error), /hush/);
        return error.details.fields.map((field: { reason: string }) => field.reason.match(/: (\S+) has /)?.[1]);
      };
      assert.deepEqual(await pathsRefused('dotenv', ''), ['bin/cr', 'bin/nul', 'quo/tes']);
      assert.deepEqual(await pathsRefused('docker', ''), ['bin/cr', 'bin/nul']);
      assert.deepEqual(await pathsRefused('shell', ''), ['bin/nul']);
      assert.deepEqual(await auditOf(service, `vault=${vault}&action=secrets:read`), []);
      assert.equal((await take(vault, 'format=docker&prefix=quo/')).text, `QUO_TES=hush's "x"\n`);
      assert.equal((await take(vault, 'format=dotenv&prefix=fine')).text, 'fine=x\n');
      assert.deepEqual(Object.keys(await ok(take(vault))).sort(), ['bin/cr', 'bin/nul', 'fine', 'quo/tes']);
      const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`many/${i}`, 'a\rb']));
      await ok(bring(vault, { secrets: many }));
      assert.equal((await pathsRefused('dotenv', 'many/')).length, 20);
    });

    rule('is refused whole if one secret may not be read; a narrower prefix is not', async () => {
      const vault = await addVault(service);
      for (const path of ['a/1', 'a/2', 'b/1']) await addSecret(service, vault, path);
      const person = await addPerson(service);
      const on = `vault/${vault}`;
      await addPolicy(service, { user: person.id }, [
        { action: ['secrets:export', 'secrets:read'], resource: [`${on}/**`] },
        { effect: 'deny', action: ['secrets:read'], resource: [`${on}/b/*`] },
      ]);
      await refused(take(vault, '', person.token), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(take(vault, 'prefix=b', person.token), 403, 'INSUFFICIENT_PRIVILEGE');
      await refused(take(vault, 'format=dotenv', person.token), 403, 'INSUFFICIENT_PRIVILEGE');
      const part = await ok(take(vault, 'prefix=a/', person.token));
      assert.deepEqual(Object.keys(part), ['a/1', 'a/2']);
      const entries = await auditOf(service, `vault=${vault}&action=secrets:read`);
      assert.deepEqual(entries.map((entry) => [entry.resource, entry.details.via]).sort(), [
        [`${on}/a/1`, 'export'],
        [`${on}/a/2`, 'export'],
      ]);
      const [whole] = await auditOf(service, `vault=${vault}&action=secrets:export&decision=allow`);
      assert.deepEqual(whole.details, { format: 'json', secrets: 2, fortress_left_out: 0 });
    });

    rule('tells nothing of what is hidden', async () => {
      const vault = await addVault(service);
      for (const path of ['open/a', 'open/tagged', 'closed/a']) {
        await addSecret(service, vault, path, { metadata: { tags: path === 'open/tagged' ? ['t'] : [] } });
      }
      const person = await addPerson(service);
      const all = ['secrets:export', 'secrets:read', 'secrets:list'];
      await addPolicy(service, { user: person.id }, [
        { action: all, resource: [`vault/${vault}/open/**`] },
        { effect: 'deny', action: all, resource: ['vault/**'], condition: { tag_equals: ['t'] } },
      ]);
      for (const prefix of ['closed/a', 'closed/b', 'closed/', 'nothing/', '']) {
        const error = await refused(take(vault, `prefix=${prefix}`, person.token), 403, 'INSUFFICIENT_PRIVILEGE');
        assert.match(error.message, /select fewer with `prefix`/);
      }
      assert.deepEqual(Object.keys(await ok(take(vault, 'prefix=open/', person.token))), ['open/a']);
      assert.deepEqual(await ok(take(vault, 'prefix=open/tag', person.token)), {});
    });

    test('of thousands comes whole and in order', async () => {
      const vault = await addVault(service);
      const paths = Array.from({ length: 3000 }, (_, i) => `s/${String(i).padStart(4, '0')}`);
      await importPaths(service, vault, paths);
      const all = await ok(take(vault));
      assert.deepEqual(Object.keys(all), paths);
      assert.ok(paths.every((path) => all[path] === `value of ${path}`));
      const { text } = await take(vault, 'format=dotenv');
      assert.equal(text.split('\n').length, 3001);
    });

    rule('of more than ten thousand asks for a prefix', async () => {
      const vault = await addVault(service);
      await addSecret(service, vault, 'one');
      const { database: db } = service.app.kernel;
      const { vault_id } = await db.read
        .selectFrom('vaults')
        .selectAll()
        .where('name', '=', vault)
        .executeTakeFirstOrThrow();
      const model = await db.read
        .selectFrom('secrets')
        .selectAll()
        .where('vault_id', '=', vault_id)
        .executeTakeFirstOrThrow();
      for (let at = 0; at < 10_000; at += 500) {
        const copies = Array.from({ length: 500 }, (_, i) => ({
          ...model,
          path: `x/${at + i}`,
          secret_id: newId('sec'),
          secret_no: at + i + 1,
        }));
        await asTheService(db, (tx) => SECRETS.insert(tx, ...copies));
      }
      await invalid(take(vault), '/query/prefix');
      assert.deepEqual(await ok(take(vault, 'prefix=o')), { one: 'value of one' });
    });
  });
});

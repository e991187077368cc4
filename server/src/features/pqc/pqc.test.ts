import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { addConnection, callAs } from '../../../../test/support/machines.ts';
import { addTenant, allPages, invalid, ok, refused, type Tenant } from '../../../../test/support/people.ts';
import { newPostgresDatabase } from '../../../../test/support/postgres.ts';
import {
  type Answer,
  type CallOptions,
  onSqliteAtLanding,
  type Service,
  startService,
} from '../../../../test/support/service.ts';
import { addPolicy, addVault, startNodeBeside } from '../../../../test/support/vaults.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';

const ALGORITHMS = ['ecdh-p256+ml-kem-768', 'rsa-oaep-2048+ml-kem-768'] as const;
const ML_KEM_CIPHERTEXT = 1088;
const ML_DSA_SIGNATURE = 3309;
const bytesOf = (text: string) => Buffer.from(text, 'base64');
const newKey = () => randomBytes(32).toString('base64');

onSqliteAtLanding('post-quantum', (database) => {
  let service: Service;
  let tenant: Tenant;

  before(async () => {
    service = await startService(database);
    tenant = await addTenant(service);
  });
  after(() => service.close());

  const post = (path: string, body: unknown, options: CallOptions = {}) =>
    service.call('POST', `/pqc/${path}`, { body, ...options });
  const theirs = () => ({ token: tenant.owner.token });
  const wrap = (body: object, options?: CallOptions) => ok(post('hybrid-classical/wrap', body, options));
  const unwrap = (body: object, options?: CallOptions) => post('hybrid-classical/unwrap', body, options);
  const sign = (body: object, options?: CallOptions) => ok(post('dual-sign/sign', body, options));
  const verify = (body: object, options?: CallOptions) => post('dual-sign/verify', body, options);
  const rotate = (algorithm: string, options?: CallOptions) => ok(post('keys/rotate', { algorithm }, options), 201);

  /** Every one of them is told the same, down to the letter. */
  async function allTheSame(answers: Iterable<Promise<Answer>>): Promise<void> {
    const told = new Set<string>();
    for await (const { status, body } of answers) {
      assert.equal(status, 422, JSON.stringify(body));
      told.add(JSON.stringify({ ...body.error, request_id: '' }));
    }
    const error = { code: 'DECRYPT_FAILED', message: 'The ciphertext could not be opened.', request_id: '' };
    assert.deepEqual([...told], [JSON.stringify(error)]);
  }

  for (const algorithm of ALGORITHMS) {
    describe(`wrapping by ${algorithm}`, () => {
      test('what was wrapped unwraps, also after the key has been rotated', async () => {
        const key = newKey();
        const wrapped = await wrap({ algorithm, key });
        assert.deepEqual(Object.keys(wrapped), ['algorithm', 'key_id', 'wrapped']);
        const { version } = await ok(service.call('GET', `/pqc/keys/${wrapped.key_id}`));
        const next = await rotate(algorithm);
        assert.equal(next.version, version + 1);
        const later = await wrap({ algorithm, key });
        assert.equal(later.key_id, next.key_id);
        for (const one of [wrapped, later]) {
          assert.deepEqual(await ok(unwrap(one)), { algorithm, key_id: one.key_id, key });
        }
      });

      test('another tenant wraps to our public key, and only we unwrap it', async () => {
        const { key_id, public_key } = await rotate(algorithm);
        const key = newKey();
        const wrapped = await wrap({ algorithm, key, public_key }, theirs());
        assert.equal(wrapped.key_id, key_id);
        assert.equal((await ok(unwrap(wrapped))).key, key);
        await refused(unwrap(wrapped, theirs()), 422, 'DECRYPT_FAILED');
      });

      test('changed, cut, extended, mixed, moved to another key, version, tenant or algorithm: one answer', async () => {
        const key = newKey();
        const first = await wrap({ algorithm, key });
        const second = await wrap({ algorithm, key: newKey() });
        const foreign = await wrap({ algorithm, key }, theirs());
        const { key_id: nextVersion } = await rotate(algorithm);
        const another = ALGORITHMS.find((one) => one !== algorithm);
        const other = await wrap({ algorithm: another, key });
        const signer = await sign({ message: 'x' });
        const of = (more: object) => unwrap({ ...first, ...more });
        const mixed = (cut: number) =>
          Buffer.concat([bytesOf(first.wrapped).subarray(0, cut), bytesOf(second.wrapped).subarray(cut)]);
        const turned = (cut: number) =>
          Buffer.concat([bytesOf(first.wrapped).subarray(cut), bytesOf(first.wrapped).subarray(0, cut)]);
        const texts = [
          '',
          'no base64 at all',
          first.wrapped.slice(0, -4),
          first.wrapped.slice(4),
          `${first.wrapped}AAAA`,
          `${first.wrapped}\n`,
          ` ${first.wrapped}`,
          first.wrapped.replaceAll('+', '-').replaceAll('/', '_'),
          `${first.wrapped.slice(0, 100)}\u0000${first.wrapped.slice(101)}`,
          other.wrapped,
          foreign.wrapped,
          ...[mixed(ML_KEM_CIPHERTEXT), mixed(-60), mixed(-48), turned(ML_KEM_CIPHERTEXT), turned(-60)].map((b) =>
            b.toString('base64'),
          ),
        ];
        await allTheSame([
          ...texts.filter((wrapped) => wrapped !== first.wrapped).map((wrapped) => of({ wrapped })),
          of({ algorithm: another }),
          of({ key_id: nextVersion }),
          of({ key_id: other.key_id }),
          of({ key_id: foreign.key_id }),
          of({ key_id: signer.key_id }),
          of({ key_id: first.key_id.toUpperCase() }),
          of({ key_id: 'no such key' }),
          of({ key_id: `${first.key_id}\u0000` }),
          of({ key_id: first.key_id, wrapped: second.wrapped.slice(0, -4).concat('AAA=') }),
          unwrap(foreign),
          unwrap({ ...foreign, key_id: first.key_id }),
          unwrap(first, theirs()),
          unwrap({ ...first, key_id: foreign.key_id }, theirs()),
        ]);
        assert.equal((await ok(unwrap(first))).key, key);
      });

      test('a bit anywhere decides', async () => {
        const wrapped = await wrap({ algorithm, key: newKey() });
        const bytes = bytesOf(wrapped.wrapped);
        const places = fc.sample(fc.nat(bytes.length - 1), 25);
        await allTheSame(
          places.map((at) => {
            const changed = Buffer.from(bytes);
            changed[at] = (changed[at] ?? 0) ^ 1;
            return unwrap({ ...wrapped, wrapped: changed.toString('base64') });
          }),
        );
      });

      test('what is no key and no public key is refused by its field', async () => {
        const path = 'hybrid-classical/wrap';
        for (const key of [
          '',
          'x'.repeat(44),
          randomBytes(31).toString('base64'),
          randomBytes(33).toString('base64'),
        ]) {
          await invalid(post(path, { algorithm, key }), '/body/key');
        }
        const stray = `${Buffer.alloc(32).toString('base64').slice(0, -2)}B=`;
        await invalid(post(path, { algorithm, key: stray }), '/body/key');
        const right = bytesOf((await rotate(algorithm)).public_key);
        const another = ALGORITHMS.find((one) => one !== algorithm) ?? algorithm;
        const wrong = [
          Buffer.alloc(right.length),
          Buffer.alloc(right.length, 0xff),
          right.subarray(1),
          Buffer.concat([right, Buffer.alloc(1)]),
          Buffer.concat([right.subarray(1184), right.subarray(0, 1184)]),
          Buffer.from(right).fill(0, 1184),
          bytesOf((await rotate(another)).public_key),
        ];
        for (const bytes of wrong) {
          const body = { algorithm, key: newKey(), public_key: bytes.toString('base64') };
          await invalid(post(path, body), '/body/public_key');
        }
      });
    });
  }

  describe('signing', () => {
    test('a message and its digest have the same signature, verified by key id, by public key or by both', async () => {
      const message = 'Grüße, 世界';
      const digest = createHash('sha512').update(message).digest('base64');
      for (const signed of [await sign({ message }), await sign({ digest })]) {
        const { key_id, signature, public_key } = signed;
        assert.equal(bytesOf(signature).length, 3693);
        for (const key of [{ key_id }, { public_key }, { key_id, public_key }]) {
          for (const what of [{ message }, { digest }]) {
            const answer = await ok(verify({ ...what, signature, ...key }));
            assert.deepEqual(answer, { valid: true, rsa_pss_valid: true, ml_dsa_valid: true, key_id });
          }
        }
      }
    });

    test('an older version verifies, and does not sign', async () => {
      const before = await sign({ message: 'before' });
      const { key_id } = await rotate('rsa-pss-3072+ml-dsa-65');
      assert.equal((await sign({ message: 'after' })).key_id, key_id);
      const { signature } = before;
      assert.equal((await ok(verify({ message: 'before', signature, key_id: before.key_id }))).valid, true);
      assert.equal((await ok(verify({ message: 'before', signature, key_id }))).valid, false);
    });

    test('says which half does not hold', async () => {
      const message = 'two halves';
      const { key_id, signature } = await sign({ message });
      const bytes = bytesOf(signature);
      const changedAt = (at: number) => {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ 0x80;
        return verify({ message, key_id, signature: changed.toString('base64') });
      };
      const firstOnly = { valid: false, rsa_pss_valid: false, ml_dsa_valid: true, key_id };
      assert.deepEqual(await ok(changedAt(ML_DSA_SIGNATURE + 5)), firstOnly);
      assert.deepEqual(await ok(changedAt(5)), { ...firstOnly, rsa_pss_valid: true, ml_dsa_valid: false });
    });

    test('whatever is not the signature is not valid: truncated, extended, turned, mixed, of another key, tenant, message', async () => {
      const message = 'signed';
      const { key_id, signature } = await sign({ message });
      const other = await sign({ message: 'another' });
      const foreign = await sign({ message }, theirs());
      const bytes = bytesOf(signature);
      const halves = [bytes.subarray(0, ML_DSA_SIGNATURE), bytes.subarray(ML_DSA_SIGNATURE)] as const;
      const wrong = [
        '',
        'no base64',
        `${signature}\n`,
        signature.slice(0, -4),
        `${signature}AAAA`,
        halves[0].toString('base64'),
        halves[1].toString('base64'),
        Buffer.concat([halves[1], halves[0]]).toString('base64'),
        Buffer.concat([halves[0], bytesOf(other.signature).subarray(ML_DSA_SIGNATURE)]).toString('base64'),
        other.signature,
        foreign.signature,
      ];
      for (const one of wrong) {
        const answer = await ok(verify({ message, key_id, signature: one }));
        assert.equal(answer.valid, false);
      }
      assert.equal((await ok(verify({ message: 'signee', key_id, signature }))).valid, false);
      assert.equal((await ok(verify({ message, signature, public_key: foreign.public_key }))).valid, false);
      await refused(verify({ message, signature, key_id }, theirs()), 404, 'NOT_FOUND');
      await refused(verify({ message, signature, key_id: 'rsa-pss-3072-none' }), 404, 'NOT_FOUND');
    });

    test('what is unclear is refused by its field', async () => {
      const { key_id, signature, public_key } = await sign({ message: 'x' });
      const digest = createHash('sha512').update('x').digest('base64');
      await invalid(post('dual-sign/sign', {}), '/body/message');
      await invalid(post('dual-sign/sign', { message: 'x', digest }), '/body/message');
      await invalid(post('dual-sign/sign', { digest: `${digest.slice(0, -3)}B==` }), '/body/digest');
      await invalid(post('dual-sign/sign', { digest: digest.slice(4) }), '/body/digest');
      await invalid(verify({ message: 'x', signature }), '/body/key_id');
      const foreign = await sign({ message: 'x' }, theirs());
      await invalid(verify({ message: 'x', signature, key_id, public_key: foreign.public_key }), '/body/key_id');
      const turned = Buffer.concat([bytesOf(public_key).subarray(1952), bytesOf(public_key).subarray(0, 1952)]);
      await invalid(verify({ message: 'x', signature, public_key: turned.toString('base64') }), '/body/public_key');
    });
  });

  describe('keys', () => {
    test('are listed by algorithm, the newest version first, and filtered', async () => {
      const options = { token: (await addTenant(service)).owner.token };
      assert.deepEqual(await ok(service.call('GET', '/pqc/keys', options)), { keys: [], next_cursor: null });
      for (const algorithm of [ALGORITHMS[0], ALGORITHMS[0], ALGORITHMS[1]]) await rotate(algorithm, options);
      const listed = await allPages(service, '/pqc/keys?limit=1', 'keys', options);
      const inOrder = [
        [ALGORITHMS[1], 1],
        [ALGORITHMS[0], 2],
        [ALGORITHMS[0], 1],
      ];
      assert.deepEqual(
        listed.map(({ algorithm, version }) => [algorithm, version]),
        inOrder,
      );
      const filter = `/pqc/keys?algorithm=${encodeURIComponent(ALGORITHMS[0])}`;
      assert.deepEqual(await allPages(service, filter, 'keys', options), listed.slice(1));
      for (const key of listed)
        assert.deepEqual(await ok(service.call('GET', `/pqc/keys/${key.key_id}`, options)), key);
    });

    test('a year old, a key gets a successor when it would be used, and goes on opening', async () => {
      const options = { token: (await addTenant(service)).owner.token };
      const body = { algorithm: ALGORITHMS[0], key: newKey() };
      const first = await wrap(body, options);
      const age = (days: number) =>
        service.app.kernel.database.transaction(async (tx) => {
          const created_at = service.clock.now() - days * DAY_MS;
          await tx.updateTable('pqc_keys').set({ created_at }).where('key_id', '=', first.key_id).execute();
        });
      await age(364);
      assert.equal((await wrap(body, options)).key_id, first.key_id);
      await age(365);
      const later = await wrap(body, options);
      assert.notEqual(later.key_id, first.key_id);
      assert.equal((await ok(service.call('GET', `/pqc/keys/${later.key_id}`, options))).version, 2);
      for (const one of [first, later]) assert.equal((await ok(unwrap(one, options))).key, body.key);
    });

    test('first uses at once make one key', async () => {
      const options = { token: (await addTenant(service)).owner.token };
      const all = await Promise.all(
        Array.from({ length: 8 }, () => wrap({ algorithm: ALGORITHMS[0], key: newKey() }, options)),
      );
      assert.equal(new Set(all.map(({ key_id }) => key_id)).size, 1);
      for (const one of all) await ok(unwrap(one, options));
    });

    test('rotations at once make one version each, or say that another was first', async () => {
      const options = { token: (await addTenant(service)).owner.token };
      const body = { algorithm: ALGORITHMS[0] };
      const answers = await Promise.all(Array.from({ length: 5 }, () => post('keys/rotate', body, options)));
      const made = answers.filter(({ status }) => status === 201).map((answer) => answer.body.version);
      assert.ok(made.length >= 1);
      assert.deepEqual(made.toSorted(), [...new Set(made)].toSorted());
      for (const { status, body: told } of answers.filter((answer) => answer.status !== 201)) {
        assert.deepEqual([status, told.error.code], [409, 'IN_USE']);
      }
    });

    test('a public key that was exchanged in the database is not used', async () => {
      const options = { token: (await addTenant(service)).owner.token };
      const { key_id } = await rotate(ALGORITHMS[0], options);
      const attacker = await rotate(ALGORITHMS[0], theirs());
      await service.app.kernel.database.transaction(async (tx) => {
        const change = { public_key: bytesOf(attacker.public_key), key_id: attacker.key_id };
        await tx.updateTable('pqc_keys').set(change).where('key_id', '=', key_id).execute();
      });
      service.expectErrorLogs(/"endpoint":"(?:wrapKey|listPqcKeys)"/);
      const answer = await post('hybrid-classical/wrap', { algorithm: ALGORITHMS[0], key: newKey() }, options);
      assert.equal(answer.status, 500);
      assert.equal((await service.call('GET', '/pqc/keys', options)).status, 500);
    });
  });

  test('a connection with a policy may, and one without may not', async () => {
    const machine = await addConnection(service, await addVault(service));
    const body = { algorithm: ALGORITHMS[0], key: newKey() };
    await refused(
      callAs(service, machine, 'POST', '/pqc/hybrid-classical/wrap', { body }),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
    await addPolicy(service, { app_connection: machine.client_id }, [
      { effect: 'allow', action: ['pqc:wrap', 'pqc:unwrap'], resource: ['pqc/hybrid-classical'] },
    ]);
    const wrapped = await ok(callAs(service, machine, 'POST', '/pqc/hybrid-classical/wrap', { body }));
    const opened = await ok(callAs(service, machine, 'POST', '/pqc/hybrid-classical/unwrap', { body: wrapped }));
    assert.equal(opened.key, body.key);
    const signing = { body: { message: 'x' } };
    await refused(callAs(service, machine, 'POST', '/pqc/dual-sign/sign', signing), 403, 'INSUFFICIENT_PRIVILEGE');
  });

  test('no key and no message reaches the log or the audit log, also when it cannot be read', async () => {
    const marker = 'Zq7PqcMarker';
    const key = Buffer.from(`${marker}${'k'.repeat(32 - marker.length)}`).toString('base64');
    const wrapped = await wrap({ algorithm: ALGORITHMS[0], key });
    await ok(unwrap(wrapped));
    await sign({ message: marker });
    await invalid(post('hybrid-classical/wrap', { algorithm: ALGORITHMS[0], key: marker }), '/body/key');
    await invalid(post('dual-sign/sign', { message: { [marker]: marker } }), '/body/message');
    await refused(unwrap({ ...wrapped, wrapped: marker, key_id: marker }), 422, 'DECRYPT_FAILED');
    await refused(post('dual-sign/sign', `{"message": "${marker}`), 400, 'INVALID_REQUEST');
    const entries = JSON.stringify(await allPages(service, '/v1/audit?limit=1000', 'entries'));
    for (const text of [marker, key, wrapped.wrapped]) {
      assert.ok(!entries.includes(text), 'in the audit log');
      assert.ok(!service.logs.join('').includes(text), 'in the log');
    }
    assert.match(entries, /"action":"pqc:unwrap"/);
  });

  test('sizes are bounded before work is done', async () => {
    const long = (length: number) => 'A'.repeat(length);
    await invalid(post('hybrid-classical/wrap', { algorithm: ALGORITHMS[0], key: long(45) }), '/body/key');
    const key = newKey();
    const wrapping = { algorithm: ALGORITHMS[0], key, public_key: long(3204) };
    await invalid(post('hybrid-classical/wrap', wrapping), '/body/public_key');
    const { key_id } = await wrap({ algorithm: ALGORITHMS[0], key });
    const unwrapping = { algorithm: ALGORITHMS[0], key_id, wrapped: long(2052) };
    await invalid(unwrap(unwrapping), '/body/wrapped');
    await invalid(unwrap({ ...unwrapping, wrapped: '', key_id: long(65) }), '/body/key_id');
    await invalid(verify({ message: '', key_id, signature: long(5124) }), '/body/signature');
    await sign({ message: long(1_048_576) });
    await refused(post('dual-sign/sign', { message: long(1_048_577) }), 413, 'PAYLOAD_TOO_LARGE');
    await refused(post('dual-sign/sign', { message: 'é'.repeat(524_289) }), 413, 'PAYLOAD_TOO_LARGE');
    await refused(post('dual-sign/sign', { message: long(7_000_000) }), 413, 'PAYLOAD_TOO_LARGE');
    await refused(post('hybrid-classical/unwrap', { ...unwrapping, wrapped: long(70_000) }), 413, 'PAYLOAD_TOO_LARGE');
  });
});

test('two nodes that use a key for the first time at once make one', async () => {
  const databaseUrl = await newPostgresDatabase();
  const a = await startService('postgres', { databaseUrl });
  const b = await startNodeBeside(a, databaseUrl);
  const body = { algorithm: ALGORITHMS[1], key: newKey() };
  const wrapped = await Promise.all(
    [a, b, a, b].map((node) => ok(node.call('POST', '/pqc/hybrid-classical/wrap', { body }))),
  );
  assert.equal(new Set(wrapped.map(({ key_id }) => key_id)).size, 1);
  for (const [i, one] of wrapped.entries()) {
    const node = i % 2 === 0 ? b : a;
    assert.equal((await ok(node.call('POST', '/pqc/hybrid-classical/unwrap', { body: one }))).key, body.key);
  }
  const next = await ok(a.call('POST', '/pqc/keys/rotate', { body: { algorithm: ALGORITHMS[1] } }), 201);
  assert.equal((await ok(b.call('POST', '/pqc/hybrid-classical/wrap', { body }))).key_id, next.key_id);
  await b.close();
  await a.close();
});

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { nitroDocument, sevSnpReport } from '../../../../test/support/attestation-documents.ts';
import { addConnection, callAs } from '../../../../test/support/machines.ts';
import { addPerson, addTenant, invalid, ok, refused } from '../../../../test/support/people.ts';
import { newPostgresDatabase } from '../../../../test/support/postgres.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addVault, auditOf, runPurges, startNodeBeside } from '../../../../test/support/vaults.ts';
import { nitroVectors, sevSnpVectors, sgxVectors } from '../../../../test/support/vectors.ts';
import { HOUR_MS, MINUTE_MS } from '../../kernel/base/clock.ts';

const SEV = 'amd-sev-snp-report';
const SGX = 'sgx-dcap-quote-v3';
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
const codesOf = (warnings: string[]) => warnings.map((warning) => warning.split(':')[0]);

onSqliteAtLanding('attestation', (database) => {
  let service: Service;
  let databaseUrl: string | undefined;
  before(async () => {
    databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
    service = await startService(database, databaseUrl === undefined ? {} : { databaseUrl });
  });
  after(() => service.close());

  const send = (body: object, token = service.adminToken, on = service) =>
    on.call('POST', '/attestation/verify', { token, body });
  const verify = async (document: Uint8Array, more = {}) => ok(send({ document: base64(document), ...more }));
  const issue = async (token = service.adminToken) =>
    (await ok(service.call('POST', '/attestation/nonce', { token }), 201)).nonce as string;
  const withNonce = (nonce: string, token?: string, on?: Service) => {
    const document = base64(sevSnpReport(Buffer.from(nonce, 'base64')));
    return ok(send({ format: SEV, document, nonce }, token, on));
  };

  test('a Nitro document of another root is read and not verified', async () => {
    const { document } = await nitroDocument({ now: service.clock.now() });
    const answer = await verify(document);
    assert.deepEqual(
      [answer.format, answer.signature_validated, answer.verified],
      ['aws-nitro-cose-sign1', false, false],
    );
    assert.deepEqual(codesOf(answer.warnings), [
      'untrusted_root',
      'bad_signature',
      'no_nonce',
      'no_expected_measurements',
    ]);
    assert.equal(answer.measurements.pcr2, '03'.repeat(48));
    assert.equal(answer.claims.digest, 'SHA384');
  });

  for (const { by, isOwn, bytes: document } of nitroVectors()) {
    test(`a Nitro document ${by} does not hold now, and says why`, async () => {
      const answer = await verify(document);
      assert.deepEqual([answer.signature_validated, answer.verified], [false, false]);
      assert.deepEqual(
        [answer.expired, answer.signature_valid_at_document_time],
        isOwn ? [false, false] : [true, true],
      );
      const reasons = isOwn ? ['untrusted_root', 'bad_signature'] : ['certificate_expired', 'debug_mode'];
      assert.deepEqual(codesOf(answer.warnings).slice(0, 2), reasons);
    });
  }

  for (const { by, bytes: document, facts } of sgxVectors()) {
    test(`an SGX quote ${by} is read whole, and its signature not validated`, async () => {
      const data = Buffer.from(facts.data);
      const { mrenclave, mrsigner, isv_svn } = facts;
      const expected = { measurements: { mrenclave, mrsigner }, user_data: base64(data), claims: { isv_svn } };
      const answer = await verify(document, { format: SGX, expected, nonce: base64(data) });
      assert.deepEqual([answer.format, answer.signature_validated, answer.verified], [SGX, false, false]);
      assert.deepEqual(codesOf(answer.warnings), ['signature_not_validated']);
      assert.deepEqual(answer.measurements, { mrenclave, mrsigner });
      const { claims } = answer;
      assert.equal(claims.qe_vendor_id, facts.qe_vendor_id);
      assert.deepEqual([claims.qe_svn, claims.pce_svn, claims.isv_prod_id], facts.numbers);
      assert.equal(claims.cpu_svn, facts.cpu_svn);
      assert.deepEqual(claims.attributes, {
        flags: '0x0000000000000005',
        xfrm: facts.xfrm,
        init: true,
        debug: false,
        mode64bit: true,
        provision_key: false,
        einittoken_key: false,
        cet: false,
        kss: false,
      });
      const { qe_report, certification, qe_authentication_data } = claims.signature_section;
      assert.equal(qe_report.mrsigner, facts.qe_mrsigner);
      assert.deepEqual([qe_report.isv_prod_id, qe_report.isv_svn], facts.qe_numbers);
      assert.equal(qe_authentication_data, facts.qe_authentication_data);
      const chain = { type: 5, type_name: 'pck_certificate_chain', certificates: 3 };
      assert.deepEqual(certification, { ...chain, bytes: facts.certification_bytes });
      const wrong = {
        measurements: { mrenclave: mrsigner },
        user_data: base64(Buffer.from('Hello')),
        claims: { x: 1 },
      };
      const other = await verify(document, { format: SGX, expected: wrong });
      assert.deepEqual(codesOf(other.warnings).slice(1, 4), [
        'user_data_mismatch',
        'measurement_mismatch',
        'claim_mismatch',
      ]);
    });
  }

  for (const { by, bytes: document, facts } of sevSnpVectors()) {
    test(`a SEV-SNP report ${by} is read whole, and its signature not validated`, async () => {
      const answer = await verify(document, { format: SEV, nonce: facts.data });
      assert.deepEqual([answer.format, answer.signature_validated, answer.verified], [SEV, false, false]);
      assert.deepEqual(codesOf(answer.warnings), ['signature_not_validated', 'debug_mode', 'no_expected_measurements']);
      const begins = (value: string, expected: string) => assert.ok(value.startsWith(expected), `${value} ${expected}`);
      begins(answer.measurements.measurement, facts.measurement);
      const { claims } = answer;
      assert.deepEqual([claims.report_version, claims.guest_svn, claims.vmpl], facts.numbers);
      assert.deepEqual([claims.policy.debug, claims.policy.smt, claims.policy.migrate_ma], [true, true, false]);
      assert.equal(claims.signature_algorithm, 'ecdsa-p384-sha384');
      assert.deepEqual(claims.current_tcb, facts.current_tcb);
      begins(claims.chip_id, facts.chip_id);
      assert.deepEqual(claims.current_firmware, facts.current_firmware);
      assert.deepEqual([claims.cpuid, claims.launch_mitigation_vector, claims.signing_key], [null, null, 'vcek']);
      begins(claims.signature.r, facts.r);
      begins(claims.signature.s, facts.s);
    });
  }

  test('what cannot be read is a 422 that says why and repeats nothing', async () => {
    const wrong: [string | undefined, Uint8Array][] = [
      [undefined, Buffer.from('abc')],
      [undefined, sevSnpReport()],
      [SGX, sevSnpReport()],
      [SEV, sevSnpReport().subarray(1)],
      [SEV, Buffer.concat([sevSnpReport(), Buffer.alloc(1)])],
      [SEV, Buffer.alloc(0x4a0)],
      [SGX, Buffer.from([3, 0, 2, 0])],
    ];
    for (const [format, document] of wrong) {
      await invalid(send({ ...(format && { format }), document: base64(document) }), '/body/document');
    }
  });

  test('sizes, spellings and counts are bounded before work is done', async () => {
    const document = base64(sevSnpReport());
    await invalid(send({ format: SEV, document: 'A'.repeat(4 * 10_923 + 4) }), '/body/document');
    for (const bad of ['', 'AAA', 'A', 'AB==', 'AAAA=', ' AAAA', 'AA_-', 1, null]) {
      await invalid(send({ format: SEV, document: bad }), '/body/document');
      await invalid(send({ format: SEV, document, nonce: bad }), '/body/nonce');
      await invalid(send({ format: SEV, document, expected: { user_data: bad } }), '/body/expected/user_data');
    }
    await invalid(send({ format: SEV, document, nonce: base64(Buffer.alloc(513)) }), '/body/nonce');
    await invalid(send({ format: 'sgx', document }), '/body/format');
    await invalid(send({ document, other: 1 }), '/body/other');
    await invalid(send({ document, expected: { pcr0: 'x' } }), '/body/expected/pcr0');
    for (const digest of ['', 'AB'.repeat(32), 'ab'.repeat(31), 'ab'.repeat(65), 'abc'.repeat(32).slice(1), 1]) {
      await invalid(
        send({ document, expected: { measurements: { pcr0: digest } } }),
        '/body/expected/measurements/pcr0',
      );
    }
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`c${n}`, 1]));
    await invalid(send({ document, expected: { claims: many } }), '/body/expected/claims');
    await invalid(send({ document, expected: { claims: { x: {} } } }), '/body/expected/claims/x');
    await refused(send({ document: 'A'.repeat(70_000) }), 413, 'PAYLOAD_TOO_LARGE');
  });

  test('never a 500 and never verified, whatever is sent', async () => {
    const found = [...nitroVectors(), ...sgxVectors()].map(({ bytes }) => bytes);
    const documents = [sevSnpReport(), (await nitroDocument({ now: service.clock.now() })).document, ...found];
    const mutated = fc.constantFrom(...documents).chain((document) => {
      const at = fc.nat(document.length - 1);
      return fc.tuple(at, at, fc.uint8Array({ maxLength: 8 })).map(([from, to, bytes]) => {
        return Buffer.concat([document.subarray(0, from), bytes, document.subarray(to)]).subarray(0, 20_000);
      });
    });
    const anything = fc.oneof(fc.uint8Array({ minLength: 1, maxLength: 300 }), mutated);
    const format = fc.constantFrom('aws-nitro-cose-sign1', SGX, SEV);
    await fc.assert(
      fc.asyncProperty(format, anything, async (name, document) => {
        if (document.length === 0) return;
        const { status, body } = await send({ format: name, document: base64(document) });
        assert.ok(status === 200 || status === 422, String(status));
        if (status === 200) assert.deepEqual([body.verified, body.signature_validated], [false, false]);
      }),
      { numRuns: 150 },
    );
  });

  test('a nonce of ours is used once, whatever comes of it', async () => {
    const nonce = await issue();
    assert.equal(Buffer.from(nonce, 'base64').length, 32);
    assert.deepEqual(codesOf((await withNonce(nonce)).warnings), [
      'signature_not_validated',
      'no_expected_measurements',
    ]);
    for (let n = 0; n < 2; n++) assert.ok(codesOf((await withNonce(nonce)).warnings).includes('nonce_not_current'));
    const other = await issue();
    const elsewhere = { format: SEV, document: base64(sevSnpReport()), nonce: other };
    assert.deepEqual(codesOf((await ok(send(elsewhere))).warnings).slice(1, 2), ['nonce_mismatch']);
    assert.ok(codesOf((await withNonce(other)).warnings).includes('nonce_not_current'), 'it was used in vain');
  });

  test('a nonce is not used up by what cannot be read', async () => {
    const nonce = await issue();
    await invalid(send({ document: base64(Buffer.from('abc')), nonce }), '/body/document');
    assert.ok(!codesOf((await withNonce(nonce)).warnings).includes('nonce_not_current'));
  });

  test('of many at once one has the nonce', async () => {
    const nonce = await issue();
    const answers = await Promise.all(Array.from({ length: 12 }, () => withNonce(nonce)));
    assert.equal(answers.filter(({ warnings }) => !codesOf(warnings).includes('nonce_not_current')).length, 1);
  });

  test('a nonce that one made oneself is only compared', async () => {
    const nonce = base64(randomBytes(32));
    for (let n = 0; n < 2; n++)
      assert.ok(!codesOf((await withNonce(nonce)).warnings).some((c) => c?.includes('nonce_')));
  });

  test('a nonce expires, and one that looks like ours is none', async () => {
    const nonce = await issue();
    service.clock.advance(11 * MINUTE_MS);
    assert.ok(codesOf((await withNonce(nonce)).warnings).includes('nonce_not_current'));
    const forged = base64(Buffer.concat([Buffer.from('cvnonce1'), randomBytes(24)]));
    assert.ok(codesOf((await withNonce(forged)).warnings).includes('nonce_not_current'));
    service.clock.advance(2 * HOUR_MS);
    await runPurges(service);
    const rows = await service.app.kernel.database.read.selectFrom('attestation_nonces').selectAll().execute();
    assert.deepEqual(rows, [], 'what is over is forgotten');
    assert.ok(codesOf((await withNonce(nonce)).warnings).includes('nonce_not_current'), 'also when it is forgotten');
  });

  test('a nonce is good only in the tenant that requested it', async () => {
    const { owner } = await addTenant(service);
    const nonce = await issue();
    assert.ok(codesOf((await withNonce(nonce, owner.token)).warnings).includes('nonce_not_current'));
    assert.ok(!codesOf((await withNonce(nonce)).warnings).includes('nonce_not_current'), 'and theirs did not use it');
  });

  test('callers cannot choose the nonce that is given out', async () => {
    const body = { nonce: base64(Buffer.alloc(32)) };
    await refused(service.call('POST', '/attestation/nonce', { body }), 422, 'VALIDATION_FAILED');
    assert.equal(new Set(await Promise.all(Array.from({ length: 20 }, () => issue()))).size, 20);
  });

  test('a nonce given out by one node is used once on all', async () => {
    if (databaseUrl === undefined) return;
    const beside = await startNodeBeside(service, databaseUrl);
    const nonce = await issue();
    const used = async (on: Service) =>
      codesOf((await withNonce(nonce, undefined, on)).warnings).includes('nonce_not_current');
    assert.deepEqual([await used(beside), await used(service), await used(beside)], [false, true, true]);
    await beside.close();
  });

  test('the log says how it ended, and nothing of the document, the nonce or what was expected', async () => {
    const secret = 'do-not-log-me-0123456789';
    const nonce = await issue();
    const document = sevSnpReport(Buffer.from(secret));
    const expected = { user_data: base64(Buffer.from(secret)), claims: { module_id: secret } };
    await ok(send({ format: SEV, document: base64(document), nonce, expected }));
    await invalid(send({ document: base64(Buffer.from(secret)) }), '/body/document');
    const entries = await auditOf(service, 'action=attestation:verify');
    const [failed, made] = entries;
    assert.deepEqual([failed.decision, failed.reason], ['error', 'VALIDATION_FAILED']);
    assert.deepEqual(made.details, {
      expired: false,
      format: SEV,
      verified: false,
      signature_validated: false,
      warnings: ['signature_not_validated', 'nonce_mismatch', 'claim_mismatch', 'no_expected_measurements'],
    });
    const all = JSON.stringify(entries) + service.logs.join('');
    for (const text of [secret, base64(Buffer.from(secret)).slice(0, 20), nonce, Buffer.from(secret).toString('hex')]) {
      assert.ok(!all.includes(text));
    }
  });

  test('takes a grant, and no more than that', async () => {
    const member = await addPerson(service);
    const body = { format: SEV, document: base64(sevSnpReport()) };
    await refused(send(body, member.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await refused(service.call('POST', '/attestation/nonce', { token: member.token }), 403, 'INSUFFICIENT_PRIVILEGE');
    await addPolicy(service, { user: member.id }, [{ action: ['attestation:verify'], resource: ['attestation'] }]);
    await ok(send(body, member.token));
    await issue(member.token);
    const machine = await addConnection(service, await addVault(service));
    const asMachine = () => callAs(service, machine, 'POST', '/attestation/verify', { body });
    await refused(asMachine(), 403, 'INSUFFICIENT_PRIVILEGE');
    const principal = { app_connection: machine.client_id };
    await addPolicy(service, principal, [{ action: ['attestation:verify'], resource: ['attestation'] }]);
    await ok(asMachine());
  });
});

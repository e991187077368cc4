import assert from 'node:assert/strict';
import { type ExecFileOptions, execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { addTenant } from '../../../../test/support/people.ts';
import { newPostgresDatabase } from '../../../../test/support/postgres.ts';
import { asTheService } from '../../../../test/support/rows.ts';
import { onSqliteAtLanding, type Service, startService } from '../../../../test/support/service.ts';
import { newKeys, type TestCertificate, testAuthority } from '../../../../test/support/test-authority.ts';
import { runPurges } from '../../../../test/support/vaults.ts';
import { type PeerCertificate, peerCertificate } from '../../kernel/auth/peer-certificate.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/base/clock.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { raiseEpoch } from '../../kernel/storage/epochs.ts';
import type { Cutoff } from '../../kernel/time/cutoff.ts';
import { TENANT_RENEWED_BEFORE_MS } from './authorities.ts';
import { Certificates, type Prepared } from './index.ts';
import { hostOf } from './names.ts';
import { CERTIFICATES, expiredBefore, findCertificate } from './store.ts';
import * as x509 from './x509.ts';

const run = promisify(execFile);
const openssl = (args: string, options: ExecFileOptions) =>
  run('openssl', args.split(' '), { encoding: 'utf8', timeout: 60_000, ...options }).then(
    ({ stdout, stderr }) => `${stdout}${stderr}`,
    (error: { stdout: string; stderr: string }) => `FAILED ${error.stdout}${error.stderr}`,
  );

let clients = 0;
function newClientId(): string {
  return `0b2b1c3e-9d0a-4c43-9c1f-${String(++clients).padStart(12, '0')}`;
}

function peerOf(pem: string): PeerCertificate {
  return peerCertificate(new X509Certificate(pem).raw, []);
}

onSqliteAtLanding('certificates', (database) => {
  let service: Service;
  let certificates: Certificates;
  let tenantId: string;
  let folder: string;

  before(async () => {
    service = await startService(database);
    // Years pass here, after which half of the signing keys are over.
    service.expectErrorLogs(/a job would delete more than its limit/);
    certificates = new Certificates(service.app.kernel);
    tenantId = service.app.kernel.operatorTenantId;
    folder = mkdtempSync(join(tmpdir(), 'coffer-pki-'));
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await service.close();
  });

  const change = (fn: Parameters<typeof service.app.kernel.database.transaction>[0]) =>
    asTheService(service.app.kernel.database, fn);

  async function issued(
    facts: Partial<Parameters<Certificates['prepare']>[0]> = {},
  ): Promise<Prepared & { clientId: string; peer: PeerCertificate }> {
    const clientId = facts.clientId ?? newClientId();
    const made = await certificates.prepare({ tenantId, connectionNo: 1, ttlMs: DAY_MS, ...facts, clientId });
    await change((tx) => certificates.insert(tx, made.row));
    return { ...made, clientId, peer: peerOf(made.certificate) };
  }

  async function revoke(which: { clientId: string } | { serials: string[] }, reason = 'superseded'): Promise<string[]> {
    return (await change(async (tx) => {
      await raiseEpoch(tx, tenantId);
      return certificates.revoke(tx, tenantId, which, { reason, at: service.clock.now() });
    })) as string[];
  }

  const reasonOf = async (
    clientId: string,
    peer: PeerCertificate,
    external: string | null = null,
    tenant = tenantId,
  ): Promise<string> => {
    const verdict = await certificates.check({ tenantId: tenant, clientId }, peer, external);
    return verdict.ok ? 'ok' : verdict.reason;
  };

  function files(contents: Record<string, string>): ExecFileOptions {
    for (const [name, text] of Object.entries(contents)) writeFileSync(join(folder, name), text);
    return { cwd: folder };
  }

  const text = async (path: string) => {
    const answer = await service.call('GET', path, { token: null });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers.get('content-type'), 'application/x-pem-file');
    return answer.text;
  };

  test('openssl accepts the chain, the request and the list, and refuses what is revoked', async () => {
    const made = await issued();
    const before = await text(`/pki/${tenantId}/crl.pem`);
    const in_ = files({
      'leaf.pem': made.certificate,
      'chain.pem': made.ca_chain,
      'csr.pem': made.certificate_signing_request,
      'key.pem': made.private_key ?? '',
      'root.pem': await text('/pki/root.pem'),
      'ca.pem': await text(`/pki/${tenantId}/ca.pem`),
      'crl.pem': before,
    });
    const verify = 'verify -x509_strict -purpose sslclient -crl_check -CAfile root.pem -untrusted ca.pem';
    assert.equal(await openssl(`${verify} -CRLfile crl.pem leaf.pem`, in_), 'leaf.pem: OK\n');
    const all = verify.replace('-crl_check', '-crl_check_all');
    assert.equal(await openssl(`${all} -CRLfile crl.pem leaf.pem`, in_), 'leaf.pem: OK\n', 'as nginx asks for it');
    assert.equal(made.ca_chain, readFileSync(join(folder, 'ca.pem'), 'utf8'));
    assert.match(await openssl('req -in csr.pem -noout -verify', in_), /verify OK/);
    assert.match(await openssl('crl -in crl.pem -noout -CAfile chain.pem', in_), /verify OK/);

    const shown = await openssl('x509 -in leaf.pem -noout -text', in_);
    assert.match(shown, /CA:FALSE/);
    assert.match(shown, /Key Usage: critical\s+Digital Signature\n/);
    assert.match(shown, /Extended Key Usage: \s+TLS Web Client Authentication\n/);
    assert.ok(shown.includes(`URI:coffer://${hostOf(tenantId)}/app-connection/${made.clientId}\n`));
    assert.ok(shown.includes(`URI:${service.url}/pki/${tenantId}/crl.der?ca=1\n`));
    assert.ok(shown.includes(`Subject: CN = app-connection ${made.clientId}\n`));
    const [fromKey, fromLeaf] = await Promise.all([
      openssl('pkey -in key.pem -pubout', in_),
      openssl('x509 -in leaf.pem -noout -pubkey', in_),
    ]);
    assert.equal(fromKey, fromLeaf, 'the key that is told is that of the certificate');

    await revoke({ clientId: made.clientId }, 'key_compromise');
    files({ 'crl2.pem': await text(`/pki/${tenantId}/crl.pem`) });
    assert.match(await openssl(`${verify} -CRLfile crl2.pem leaf.pem`, in_), /certificate revoked/);
    assert.match(await openssl('crl -in crl2.pem -noout -text', in_), /Key Compromise/);
  });

  test('a tenant’s authority cannot be used to pass for a server', async () => {
    const { ca_chain } = await issued();
    const [pem = ''] = ca_chain.split(/(?<=-----END CERTIFICATE-----\n)/);
    const shown = await openssl('x509 -in one.pem -noout -text', files({ 'one.pem': pem }));
    assert.match(shown, /CA:TRUE, pathlen:0/);
    assert.match(
      shown,
      /Name Constraints: critical\s+Permitted:\s+DNS:coffer\.invalid\s+email:coffer\.invalid\s+Excluded:\s+IP:0\.0\.0\.0\/0\.0\.0\.0/,
    );

    const authority = await certificates.authorities.newest(tenantId);
    const root = await certificates.authorities.rootOf(authority);
    const stolen = await x509.X509CertificateGenerator.create({
      subject: 'CN=localhost',
      issuer: authority.subject,
      notBefore: new Date(Date.now() - HOUR_MS),
      notAfter: new Date(Date.now() + HOUR_MS),
      publicKey: (await newKeys()).publicKey,
      signingKey: authority.signingKey,
      signingAlgorithm: x509.SIGNING_ALGORITHM,
      extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: 'localhost' }])],
    });
    const in_ = files({ 'root.pem': root.pem, 'ca.pem': authority.pem, 'stolen.pem': `${stolen.toString('pem')}\n` });
    assert.match(
      await openssl('verify -CAfile root.pem -untrusted ca.pem stolen.pem', in_),
      /permitted subtree violation/,
    );
  });

  test('a list is cached until something is revoked or a quarter of its life is over; its number rises', async () => {
    const number = async () => {
      const shown = await openssl(
        'crl -in c.pem -noout -crlnumber',
        files({ 'c.pem': await text(`/pki/${tenantId}/crl.pem`) }),
      );
      return Number.parseInt(shown.trim().replace('crlNumber=', ''), 16);
    };
    const { clientId, row } = await issued();
    const first = await number();
    assert.equal(await number(), first);
    assert.deepEqual(await revoke({ serials: [] }), []);
    assert.deepEqual(await revoke({ serials: ['00'] }), []);
    assert.equal(await number(), first);
    assert.deepEqual(await revoke({ clientId }), [row.serial]);
    assert.deepEqual(await revoke({ clientId }), [], 'what is revoked is not revoked again');
    assert.equal(await number(), first + 1);
    assert.equal(await number(), first + 1);
    service.clock.advance(13 * HOUR_MS);
    assert.equal(await number(), first + 2);
  });

  test('a request is accepted for its key alone', async () => {
    const in_ = { cwd: folder };
    const config = '[req]\ndistinguished_name=dn\nprompt=no\nreq_extensions=ext\n[dn]\nCN=admin\nO=Somebody else\n';
    files({
      'evil.cnf': `${config}[ext]\nbasicConstraints=critical,CA:TRUE\nsubjectAltName=URI:coffer://x/y,DNS:evil\n`,
    });
    const kinds: [string, string][] = [
      ['-algorithm EC -pkeyopt ec_paramgen_curve:P-256', 'id-ecPublicKey'],
      ['-algorithm EC -pkeyopt ec_paramgen_curve:P-384', 'id-ecPublicKey'],
      ['-algorithm ed25519', 'ED25519'],
      ['-algorithm RSA -pkeyopt rsa_keygen_bits:2048', 'rsaEncryption'],
    ];
    for (const [kind, expected] of kinds) {
      await openssl(`genpkey ${kind} -out k.pem`, in_);
      await openssl('req -new -key k.pem -config evil.cnf -out r.pem', in_);
      const csrPem = readFileSync(join(folder, 'r.pem'), 'utf8');
      const made = await issued({ csrPem });
      assert.equal(made.private_key, null);
      assert.equal(made.certificate_signing_request, csrPem);
      const shown = await openssl('x509 -in got.pem -noout -text', files({ 'got.pem': made.certificate }));
      assert.ok(shown.includes(`Public Key Algorithm: ${expected}`), shown);
      assert.match(shown, /CA:FALSE/);
      assert.doesNotMatch(shown, /Somebody else|evil|CN = admin/);
      const [asked, got] = await Promise.all([
        openssl('pkey -in k.pem -pubout', in_),
        openssl('x509 -in got.pem -noout -pubkey', in_),
      ]);
      assert.equal(asked, got);
      assert.equal(await reasonOf(made.clientId, made.peer), 'ok');
    }
  });

  test('requests that are weak, forged, or none are refused', async () => {
    const in_ = { cwd: folder };
    const made = async (kind: string) => {
      await openssl(`genpkey ${kind} -out k.pem`, in_);
      await openssl('req -new -key k.pem -subj /CN=x -out r.pem', in_);
      return readFileSync(join(folder, 'r.pem'), 'utf8');
    };
    const good = await made('-algorithm EC -pkeyopt ec_paramgen_curve:P-256');
    const der = Buffer.from(good.replaceAll(/-----.*-----|\s/g, ''), 'base64');
    const forged = Buffer.from(der);
    // Another key under the old signature: one bit of the point would leave the curve, so the last byte of the signature is changed.
    forged[forged.length - 1] = (forged.at(-1) as number) ^ 1;
    const wrong = {
      'RSA 1024': await made('-algorithm RSA -pkeyopt rsa_keygen_bits:1024'),
      secp256k1: await made('-algorithm EC -pkeyopt ec_paramgen_curve:secp256k1'),
      'P-521': await made('-algorithm EC -pkeyopt ec_paramgen_curve:P-521'),
      ed448: await made('-algorithm ed448'),
      'a forged signature': x509.pemOf('CERTIFICATE REQUEST', forged),
      'half of it': x509.pemOf('CERTIFICATE REQUEST', der.subarray(0, 40)),
      two: good + good,
      'something before it': `x${good}`,
      'a certificate': (await issued()).certificate,
      nothing: '',
      'too much': good.replace('-----\n', `-----\n${' \n'.repeat(20_000)}`),
    };
    for (const [name, csrPem] of Object.entries(wrong)) {
      await assert.rejects(
        certificates.prepare({ tenantId, clientId: newClientId(), connectionNo: 1, csrPem, ttlMs: DAY_MS }),
        (error) => {
          assert.ok(error instanceof CofferError && error.code === 'VALIDATION_FAILED', `${name}: ${error}`);
          return true;
        },
      );
    }
  });

  test('a certificate lives a day to ninety', async () => {
    for (const [asked, given] of [
      [0, DAY_MS],
      [30 * DAY_MS, 30 * DAY_MS],
      [1000 * DAY_MS, 90 * DAY_MS],
    ] as const) {
      const { row } = await issued({ ttlMs: asked });
      const life = row.not_after - service.clock.now();
      assert.ok(Math.abs(life - given) < 5000, `${asked}: ${life}`);
    }
  });

  test('what was issued is accepted for its connection, and for nothing else', async () => {
    const [made, other] = [await issued(), await issued()];
    assert.deepEqual(await certificates.check({ tenantId, clientId: made.clientId }, made.peer, null), {
      ok: true,
      serial: made.row.serial,
    });
    assert.deepEqual(certificates.claimed(made.peer), { tenantId, clientId: made.clientId });
    assert.equal(await reasonOf(other.clientId, made.peer), 'of another connection');

    const foreign = await addTenant(service);
    assert.equal(await reasonOf(made.clientId, made.peer, null, foreign.id), 'of another tenant');
    assert.equal(await reasonOf(made.clientId, made.peer, null, 'tenant_none'), 'unknown tenant');
    const theirs = await certificates.prepare({
      tenantId: foreign.id,
      clientId: made.clientId,
      connectionNo: 1,
      ttlMs: DAY_MS,
    });
    await change((tx) => certificates.insert(tx, theirs.row));
    assert.equal(await reasonOf(made.clientId, peerOf(theirs.certificate)), 'of another tenant');
    assert.equal(await reasonOf(made.clientId, peerOf(theirs.certificate), null, foreign.id), 'ok');
  });

  test('by chain and key, never by matching fields', async () => {
    const made = await issued();
    const uri = `coffer://${hostOf(tenantId)}/app-connection/${made.clientId}`;
    const authority = await certificates.authorities.newest(tenantId);
    const names = [{ type: 'url' as const, value: uri }];
    const same = { cn: made.clientId, names, serial: made.row.serial };
    const imposter = await testAuthority({ subject: authority.subject });
    const tries: Record<string, [TestCertificate, RegExp]> = {
      'self-signed, with the same names and serial': [
        await testAuthority({ ...same, isCa: false, keyUsage: 1 }),
        /not the certificate/,
      ],
      'from an authority of the same name, same names and serial': [await imposter.issue(same), /not the certificate/],
      'from it, with a serial of its own': [
        await imposter.issue({ ...same, serial: x509.newSerial() }),
        /not issued here/,
      ],
      'an authority as leaf': [await imposter.issue({ ...same, isCa: true }), /not the certificate/],
      'no names': [await imposter.issue({ cn: made.clientId }), /not a client certificate/],
      'two names': [
        await imposter.issue({ cn: made.clientId, names: [...names, { type: 'dns', value: 'x' }] }),
        /not a client certificate/,
      ],
      'another spelling': [
        await imposter.issue({ cn: made.clientId, names: [{ type: 'url', value: uri.toUpperCase() }] }),
        /not a client certificate/,
      ],
    };
    for (const [name, [certificate, expected]] of Object.entries(tries)) {
      assert.match(await reasonOf(made.clientId, certificate.peer(imposter)), expected, name);
    }
    assert.equal(await reasonOf(made.clientId, made.peer), 'ok');
  });

  test('even a row in the database does not make a certificate of somebody else’s', async () => {
    const clientId = newClientId();
    const authority = await certificates.authorities.newest(tenantId);
    const imposter = await testAuthority({ subject: authority.subject });
    const names = [{ type: 'url' as const, value: `coffer://${hostOf(tenantId)}/app-connection/${clientId}` }];
    const forged = await imposter.issue({ cn: clientId, names });
    const { row } = await certificates.prepare({ tenantId, clientId, connectionNo: 1, ttlMs: DAY_MS });
    const peer = forged.peer(imposter);
    const serial = new X509Certificate(forged.pem).serialNumber.toLowerCase();
    await change((tx) => certificates.insert(tx, { ...row, serial, thumbprint: peer.thumbprint }));
    assert.equal(await reasonOf(clientId, peer), 'no path to a trusted authority');

    // Nor does an authority's certificate put in the place of ours: the key beside it does not open then.
    await change((tx) =>
      tx
        .updateTable('certificate_authorities')
        .set({ certificate: imposter.der })
        .where('tenant_id', '=', tenantId)
        .execute(),
    );
    try {
      const fresh = new Certificates(service.app.kernel);
      await assert.rejects(fresh.check({ tenantId, clientId }, peer, null), /cannot be decrypted/);
    } finally {
      await change((tx) =>
        tx
          .updateTable('certificate_authorities')
          .set({ certificate: authority.certificate.der })
          .where('tenant_id', '=', tenantId)
          .execute(),
      );
    }
  });

  test('malformed, cut, and with something behind it', async () => {
    const { clientId, peer } = await issued();
    for (const der of [
      new Uint8Array(),
      new Uint8Array(20_000),
      peer.der.subarray(0, -1),
      Buffer.concat([peer.der, Buffer.from([0])]),
      Buffer.from('-----BEGIN CERTIFICATE-----'),
    ]) {
      assert.equal(await reasonOf(clientId, peerCertificate(der, [])), 'malformed certificate');
      assert.equal(certificates.claimed(peerCertificate(der, [])), null);
    }
  });

  test('time is checked on each use', async () => {
    const { clientId, peer } = await issued();
    assert.equal(await reasonOf(clientId, peer), 'ok');
    service.clock.advance(-HOUR_MS);
    assert.equal(await reasonOf(clientId, peer), 'not valid yet');
    service.clock.advance(HOUR_MS + DAY_MS);
    assert.equal(await reasonOf(clientId, peer), 'expired');
    service.clock.advance(-DAY_MS);
    assert.equal(await reasonOf(clientId, peer), 'ok');
  });

  test('revoked is revoked on the next request, on another node too, also for what was accepted a moment ago', async () => {
    const other = new Certificates(service.app.kernel);
    const [a, b, kept] = [await issued(), await issued(), await issued()];
    for (const { clientId, peer } of [a, b, kept]) {
      assert.equal(await reasonOf(clientId, peer), 'ok');
      assert.ok((await other.check({ tenantId, clientId }, peer, null)).ok);
    }
    assert.deepEqual(await revoke({ serials: [a.row.serial, 'ff'] }), [a.row.serial]);
    assert.deepEqual(await revoke({ clientId: b.clientId }, 'key_compromise'), [b.row.serial]);
    assert.equal(await reasonOf(a.clientId, a.peer), 'revoked: superseded');
    assert.equal(await reasonOf(b.clientId, b.peer), 'revoked: key_compromise');
    assert.deepEqual(await other.check({ tenantId, clientId: a.clientId }, a.peer, null), {
      ok: false,
      reason: 'revoked: superseded',
    });
    assert.equal(await reasonOf(kept.clientId, kept.peer), 'ok');
    const foreign = await addTenant(service);
    assert.deepEqual(
      await change((tx) =>
        certificates.revoke(tx, foreign.id, { serials: [kept.row.serial] }, { reason: '', at: service.clock.now() }),
      ),
      [],
      'a tenant revokes nothing of another',
    );
  });

  test('a revocation may lie ahead; an earlier one replaces it, a later one does not', async () => {
    const [made, sooner] = [await issued(), await issued()];
    const revokeAt = (clientId: string, inMs: number) =>
      change(async (tx) => {
        await raiseEpoch(tx, tenantId);
        return certificates.revoke(
          tx,
          tenantId,
          { clientId },
          { reason: 'superseded', at: service.clock.now() + inMs },
        );
      });
    const isListed = async (serial: string) => {
      const pem = await text(`/pki/${tenantId}/crl.pem`);
      return (await openssl('crl -in p.pem -noout -text', files({ 'p.pem': pem }))).includes(serial.toUpperCase());
    };
    for (const { clientId } of [made, sooner]) await revokeAt(clientId, HOUR_MS);
    assert.equal(await reasonOf(made.clientId, made.peer), 'ok');
    assert.equal(await isListed(made.row.serial), false);
    assert.deepEqual(await revokeAt(made.clientId, 2 * HOUR_MS), []);
    assert.deepEqual(await revokeAt(sooner.clientId, 0), [sooner.row.serial]);
    assert.equal(await reasonOf(sooner.clientId, sooner.peer), 'revoked: superseded');
    assert.equal(await reasonOf(made.clientId, made.peer), 'ok');
    service.clock.advance(HOUR_MS + 1000);
    assert.notEqual(await reasonOf(made.clientId, made.peer), 'ok');
    assert.equal(await isListed(made.row.serial), true);
  });

  test('a serial of another connection is not revoked with it', async () => {
    const [made, other] = [await issued(), await issued()];
    const which = { clientId: made.clientId, serials: [other.row.serial] };
    assert.deepEqual(
      await change((tx) => certificates.revoke(tx, tenantId, which, { reason: '', at: service.clock.now() })),
      [],
    );
    assert.equal(await reasonOf(other.clientId, other.peer), 'ok');
  });

  test('an unknown tenant has no more than an unknown route', async () => {
    const unknown = await service.call('GET', '/pki/nothing', { token: null });
    for (const name of ['ca.pem', 'crl.pem']) {
      for (const id of ['tenant_01m7fahha20000gcft3h169cfs', 'system', 'default', 'x']) {
        const answer = await service.call('GET', `/pki/${id}/${name}`, { token: null });
        assert.equal(answer.status, 404);
        assert.equal(answer.body.error.message, unknown.body.error.message);
        assert.equal(answer.body.error.code, unknown.body.error.code);
      }
    }
  });

  test('an authority is replaced long before it ends, and what it signed stays good', async () => {
    const old = await issued({ ttlMs: 90 * DAY_MS });
    const before = await certificates.authorities.newest(tenantId);
    const left = before.certificate.notAfter - service.clock.now() - TENANT_RENEWED_BEFORE_MS;
    service.clock.advance(left - 2 * HOUR_MS);
    const last = await issued({ ttlMs: 90 * DAY_MS });
    assert.equal(last.row.ca_no, before.caNo);
    service.clock.advance(3 * HOUR_MS);
    const next = await issued({ ttlMs: 90 * DAY_MS });
    assert.equal(next.row.ca_no, before.caNo + 1);
    // Not for being expired, if the job has deleted its row by now.
    assert.notEqual(await reasonOf(old.clientId, old.peer), 'ok');
    assert.equal(await reasonOf(last.clientId, last.peer), 'ok');
    assert.equal(await reasonOf(next.clientId, next.peer), 'ok');
    assert.equal(last.row.not_after - service.clock.now() > 80 * DAY_MS, true, 'none is cut short');
    assert.equal((await text(`/pki/${tenantId}/ca.pem`)).match(/BEGIN/g)?.length, 3);

    await revoke({ serials: [last.row.serial, next.row.serial] });
    const crl = await text(`/pki/${tenantId}/crl.pem`);
    const lists = crl.split(/(?<=-----END X509 CRL-----\n)/).filter((pem) => pem !== '');
    assert.equal(lists.length, 3, 'of both, and of the root');
    for (const [index, { row }] of [next, last].entries()) {
      const shown = await openssl('crl -in l.pem -noout -text', files({ 'l.pem': lists[index] ?? '' }));
      assert.ok(shown.includes(row.serial.toUpperCase()), shown);
    }
  });

  test('what ended is deleted a month later', async () => {
    const { row } = await issued();
    const { kernel } = service.app;
    const there = async () => (await findCertificate(kernel.database.read, tenantId, row.serial)) !== undefined;
    service.clock.advance(29 * DAY_MS);
    await runPurges(service);
    assert.ok(await there());
    service.clock.advance(3 * DAY_MS);
    await runPurges(service);
    assert.equal(await there(), false);
    await change((tx) => CERTIFICATES.deleteWhere(tx, expiredBefore(0 as Cutoff)));
  });
});

onSqliteAtLanding('the authorities', (database) => {
  test('survive a restart, are the same on two nodes that start and sign at once, and have no key in the clear', async () => {
    const databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
    const first = await startService(database, { ...(databaseUrl !== undefined && { databaseUrl }), keepData: true });
    const tenantId = first.app.kernel.operatorTenantId;
    // On SQLite there is one process; several of these stand for its requests.
    const nodes = [first];
    if (databaseUrl !== undefined) {
      const env = { CV_ROOT_KEY_FILE: join(first.dataDir, 'root.key') };
      nodes.push(await startNode(databaseUrl, env));
    }
    const prepared = await Promise.all(
      [0, 1, 2, 3].map((n) =>
        new Certificates((nodes[n % nodes.length] as Service).app.kernel).prepare({
          tenantId,
          clientId: newClientId(),
          connectionNo: n,
          ttlMs: DAY_MS,
        }),
      ),
    );
    assert.equal(new Set(prepared.map(({ ca_chain }) => ca_chain)).size, 1);
    const rows = await first.app.kernel.database.read.selectFrom('certificate_authorities').selectAll().execute();
    assert.equal(rows.length, 2, 'one root and one authority');
    for (const node of nodes.slice(1)) await node.close();

    const ca = await first.call('GET', `/pki/${tenantId}/ca.pem`, { token: null });
    const keys = await Promise.all(
      ['system', tenantId].map(async (id) => {
        const place = (row: (typeof rows)[number]) => ({
          tenantId: id,
          table: 'certificate_authorities',
          row: `${row.ca_no} ${x509.thumbprintOf(row.certificate)}`,
        });
        const row = rows.find(({ tenant_id }) => tenant_id === id) as (typeof rows)[number];
        return first.app.kernel.keyring.unseal('certificates', place(row), row.sealed_key);
      }),
    );
    for (const key of keys) {
      // The private number itself stands at a fixed place of a PKCS#8 key for P-256.
      const secret = key.subarray(36, 68);
      for (const row of rows) {
        for (const column of [row.sealed_key, row.certificate])
          assert.equal(Buffer.from(column).includes(secret), false);
      }
      for (const file of readdirSync(first.dataDir)) {
        const content = readFileSync(join(first.dataDir, file));
        for (const form of [secret, secret.toString('hex'), key.toString('base64').slice(48, 80)]) {
          assert.equal(content.includes(form), false, file);
        }
      }
    }
    await first.close();

    const again = await startService(database, {
      dataDir: first.dataDir,
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
    assert.equal((await again.call('GET', `/pki/${tenantId}/ca.pem`, { token: null })).text, ca.text);
    await again.close();
  });
});

test('two nodes that start at once on an empty PostgreSQL make one root, and one authority and list for a tenant', async () => {
  const databaseUrl = await newPostgresDatabase();
  const env = { CV_ROOT_KEY_PROVIDER: 'env', CV_ROOT_KEY: Buffer.alloc(32, 5).toString('base64') };
  const nodes = await Promise.all([startNode(databaseUrl, env), startNode(databaseUrl, env)]);
  const [a, b] = nodes as [Service, Service];
  const made = nodes.find(({ adminToken }) => adminToken !== '') as Service;
  const { id } = await addTenant(made);
  for (const path of ['/pki/root.pem', `/pki/${id}/ca.pem`, `/pki/${id}/crl.pem`]) {
    const answers = await Promise.all([a, b, a, b].map((node) => node.call('GET', path, { token: null })));
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1, path);
  }
  const rows = await a.app.kernel.database.read.selectFrom('certificate_authorities').selectAll().execute();
  assert.deepEqual(
    rows.map(({ tenant_id, ca_no, crl_number }) => [tenant_id, ca_no, crl_number]).sort(),
    [
      ['system', 1, 1],
      [id, 1, 1],
    ].sort(),
  );
  assert.equal(readFileSync(join(a.dataDir, 'ca.pem'), 'utf8'), readFileSync(join(b.dataDir, 'ca.pem'), 'utf8'));
  for (const node of nodes) await node.close();
});

function startNode(databaseUrl: string, env: Record<string, string>): Promise<Service> {
  return startService('postgres', { databaseUrl, env });
}

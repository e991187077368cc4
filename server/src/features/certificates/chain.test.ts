import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { AsnConvert } from '@peculiar/asn1-schema';
import { GeneralName, GeneralSubtree, GeneralSubtrees, NameConstraints } from '@peculiar/asn1-x509';
import { processorMs } from '../../../../test/support/processor-time.ts';
import {
  type TestCertificate,
  type TestCertificateFacts,
  testAuthority,
} from '../../../../test/support/test-authority.ts';
import {
  BACKDATED_MS,
  CLIENT_LIFE_MAX_MS,
  ROOT_LIFE_MS,
  ROOT_RENEWED_BEFORE_MS,
  TENANT_LIFE_MS,
  TENANT_RENEWED_BEFORE_MS,
} from './authorities.ts';
import { type ParsedCertificate, parseCertificate } from './certificate.ts';
import { CHAIN_LENGTH_MAX, verifyChain } from './chain.ts';
import { externalAnchors, externalCaProblem, namesClient } from './external.ts';
import { clientUri, parseClientUri } from './names.ts';
import * as x509 from './x509.ts';

const { digitalSignature, keyCertSign, keyEncipherment } = x509.KeyUsageFlags;
const CA = { isCa: true, keyUsage: keyCertSign, extendedKeyUsage: null } as const;
const LEAF: TestCertificateFacts = { cn: 'client' };

const parsed = ({ der }: TestCertificate) => parseCertificate(der) as ParsedCertificate;

function verdict(
  leaf: TestCertificate,
  sent: TestCertificate[],
  anchors: TestCertificate[],
  isUsageRequired = false,
): string {
  const chain = sent.map(({ der }) => der);
  return verifyChain(parsed(leaf), chain, anchors.map(parsed), { isUsageRequired }).reason ?? 'ok';
}

test('whatever an authority may still sign ends before it does', () => {
  assert.ok(TENANT_RENEWED_BEFORE_MS > CLIENT_LIFE_MAX_MS + BACKDATED_MS);
  assert.ok(ROOT_RENEWED_BEFORE_MS > TENANT_LIFE_MS + BACKDATED_MS);
  assert.ok(TENANT_LIFE_MS > 2 * TENANT_RENEWED_BEFORE_MS && ROOT_LIFE_MS > 2 * ROOT_RENEWED_BEFORE_MS);
});

test('a leaf leads to an anchor directly, or over what was sent, in any order', async () => {
  const root = await testAuthority();
  const middle = await root.issue({ cn: 'middle', ...CA });
  const lower = await middle.issue({ cn: 'lower', ...CA });
  const [direct, deep] = [await root.issue(LEAF), await lower.issue(LEAF)];
  assert.equal(verdict(direct, [], [root], true), 'ok');
  assert.equal(verdict(deep, [lower, middle], [root]), 'ok');
  assert.equal(verdict(deep, [middle, root, lower], [root]), 'ok');
  assert.equal(verdict(deep, [lower], [middle]), 'ok', 'an anchor need not be self-signed');
  assert.equal(verdict(deep, [lower], [root]), 'no path to a trusted authority');
  assert.equal(verdict(deep, [], [root]), 'no path to a trusted authority');
});

test('every certificate on the way must be allowed to be there', async () => {
  const root = await testAuthority();
  const cases: [string, TestCertificateFacts, TestCertificateFacts, RegExp][] = [
    ['an intermediate that is no authority', { ...CA, isCa: false }, LEAF, /issuer is not a CA|no path/],
    ['an intermediate that may not sign', { ...CA, keyUsage: digitalSignature }, LEAF, /may not sign|no path/],
    ['an intermediate for servers', { ...CA, extendedKeyUsage: [x509.SERVER_AUTH] }, LEAF, /not for client/],
    ['a leaf that is an authority', CA, { ...LEAF, isCa: true }, /not a client certificate/],
    ['a leaf for servers', CA, { ...LEAF, extendedKeyUsage: [x509.SERVER_AUTH] }, /not for client/],
    ['a leaf that may not sign', CA, { ...LEAF, keyUsage: keyEncipherment }, /does not allow signatures/],
    ['a weak signature', CA, { ...LEAF, hash: 'SHA-1' }, /weak/],
    [
      'an unknown critical extension',
      CA,
      { ...LEAF, more: [new x509.Extension('1.2.3.4', true, new Uint8Array([5, 0]))] },
      /not understood/,
    ],
    [
      'the same above',
      { ...CA, more: [new x509.Extension('1.2.3.4', true, new Uint8Array([5, 0]))] },
      LEAF,
      /not understood/,
    ],
  ];
  for (const [name, above, below, expected] of cases) {
    const middle = await root.issue({ cn: 'middle', ...above });
    assert.match(verdict(await middle.issue(below), [middle], [root]), expected, name);
  }
});

test('ours must say what they are for; those of others may leave it open', async () => {
  const root = await testAuthority();
  const open = await root.issue({ ...LEAF, keyUsage: null, extendedKeyUsage: null });
  assert.equal(verdict(open, [], [root], false), 'ok');
  assert.match(verdict(open, [], [root], true), /does not allow signatures/);
});

test('the signature of an anchor on itself is not relied on, those below it are', async () => {
  const old = await testAuthority({ hash: 'SHA-1' });
  assert.equal(verdict(await old.issue(LEAF), [], [old]), 'ok');
  assert.equal(externalCaProblem(old.pem), null);
  const middle = await old.issue({ cn: 'middle', ...CA, hash: 'SHA-1' });
  assert.match(verdict(await middle.issue(LEAF), [middle], [old]), /weak/);
});

test('a path length is obeyed', async () => {
  const root = await testAuthority({ pathLength: 1 });
  const middle = await root.issue({ cn: 'middle', ...CA, pathLength: 0 });
  const lower = await middle.issue({ cn: 'lower', ...CA });
  assert.equal(verdict(await middle.issue(LEAF), [middle], [root]), 'ok');
  assert.equal(verdict(await lower.issue(LEAF), [lower, middle], [root]), 'too many intermediate CAs');
});

test('a name alone vouches for nothing', async () => {
  const root = await testAuthority();
  const imposter = await testAuthority();
  const middle = await imposter.issue({ cn: 'middle', ...CA });
  assert.equal(verdict(await imposter.issue(LEAF), [imposter], [root]), 'no path to a trusted authority');
  assert.equal(verdict(await middle.issue(LEAF), [middle, imposter], [root]), 'no path to a trusted authority');
  const leaf = await root.issue(LEAF);
  assert.equal(verdict(await leaf.issue({ cn: 'below a leaf' }), [leaf], [root]), 'no path to a trusted authority');
});

test('a chain that is too long, or goes in circles, costs little and leads nowhere', async () => {
  const root = await testAuthority();
  const keys = [await testAuthority({ cn: 'a' }), await testAuthority({ cn: 'b' })] as const;
  const circle = [
    await keys[0].issue({ cn: 'b', ...CA, keys: keys[1].keys }),
    await keys[1].issue({ cn: 'a', ...CA, keys: keys[0].keys }),
  ];
  const leaf = await keys[0].issue(LEAF);
  const many = Array.from({ length: CHAIN_LENGTH_MAX }, (_, n) => circle[n % 2] as TestCertificate);
  const ms = processorMs(() => assert.equal(verdict(leaf, many, [root]), 'no path to a trusted authority'));
  assert.ok(ms < 1000, `${ms}`);
  assert.equal(verdict(leaf, [...many, circle[0] as TestCertificate], [keys[0]]), 'the chain is too long');
  const junk = { der: new Uint8Array(30_000) } as unknown as TestCertificate;
  assert.equal(verdict(leaf, [junk], [keys[0]]), 'ok', 'what cannot be read is not used');
});

test('name constraints of an authority hold for those below it', async () => {
  const root = await testAuthority();
  const subtrees = (...bases: Partial<GeneralName>[]) =>
    new GeneralSubtrees(bases.map((base) => new GeneralSubtree({ base: new GeneralName(base) })));
  const limited = (params: Partial<NameConstraints>) => {
    const extension = new x509.Extension('2.5.29.30', true, AsnConvert.serialize(new NameConstraints(params)));
    return root.issue({ cn: 'limited', ...CA, more: [extension] });
  };
  const under = async (params: Partial<NameConstraints>, names: TestCertificateFacts['names']) => {
    const middle = await limited(params);
    return verdict(await middle.issue({ cn: 'client', ...(names && { names }) }), [middle], [root]);
  };
  const refused = 'the name constraints of the CA do not allow a name';
  const example = { permittedSubtrees: subtrees({ dNSName: 'example.com' }) };
  assert.equal(await under(example, [{ type: 'dns', value: 'a.example.com' }]), 'ok');
  assert.equal(await under(example, [{ type: 'dns', value: 'badexample.com' }]), refused);
  assert.equal(
    await under(example, [{ type: 'url', value: 'coffer://other/x' }]),
    'ok',
    'names of another kind are free',
  );
  const uris = { permittedSubtrees: subtrees({ uniformResourceIdentifier: 'tenant_a' }) };
  assert.equal(await under(uris, [{ type: 'url', value: 'coffer://tenant_a/x' }]), 'ok');
  assert.equal(await under(uris, [{ type: 'url', value: 'coffer://tenant_b/x' }]), refused);
  assert.equal(
    await under(uris, [{ type: 'url', value: 'coffer:tenant_a' }]),
    refused,
    'without a host nothing can be compared',
  );
  assert.equal(await under({ excludedSubtrees: subtrees({ dNSName: '' }) }, [{ type: 'dns', value: 'a.b' }]), refused);
  assert.equal(
    await under({ excludedSubtrees: subtrees({ iPAddress: '10.0.0.0/8' }) }, [{ type: 'ip', value: '11.0.0.1' }]),
    refused,
  );
});

test('an external authority is one or more certificates of authorities', async () => {
  const [root, other] = [await testAuthority(), await testAuthority({ cn: 'Other' })];
  const leaf = await root.issue(LEAF);
  assert.equal(externalCaProblem(root.pem), null);
  assert.equal(externalCaProblem(`${root.pem}\n${other.pem}`), null);
  assert.equal(externalAnchors(root.pem + other.pem).length, 2);
  assert.match(externalCaProblem(root.pem + leaf.pem) ?? '', /only CA certificates/);
  for (const pem of ['', 'x', `${root.pem}x`, root.pem.slice(0, 200), await root.keyPem(), root.pem.repeat(17)]) {
    assert.match(externalCaProblem(pem) ?? '', /must be 1 to 16 certificates/);
    assert.deepEqual(externalAnchors(pem), []);
  }
});

test('an external certificate names its connection by our URI, one common name, or a DNS name', async () => {
  const clientId = '0b2b1c3e-9d0a-4c43-9c1f-000000000001';
  const name = { tenantId: 'tenant_01m7fahha20000gcft3h169cfs', clientId };
  const root = await testAuthority();
  const uri = `coffer://${name.tenantId}/app-connection/${clientId}`;
  const elsewhere = uri.replace(/1$/, '2');
  const names = async (facts: TestCertificateFacts) =>
    namesClient(parsed(await root.issue(facts)), name, { isConstrained: false });
  assert.ok(await names({ cn: 'x', names: [{ type: 'url', value: uri }] }));
  assert.ok(await names({ cn: clientId }));
  assert.ok(await names({ cn: clientId, names: [{ type: 'url', value: 'https://unrelated' }] }));
  assert.ok(await names({ cn: 'x', names: [{ type: 'dns', value: clientId }] }));
  assert.equal(await names({ cn: 'x' }), false);
  assert.equal(await names({ cn: clientId.toUpperCase() }), false);
  assert.equal(await names({ cn: `${clientId} ` }), false);
  assert.equal(
    await names({ cn: clientId, names: [{ type: 'url', value: elsewhere }] }),
    false,
    'it is for another one',
  );
  assert.equal(await names({ cn: clientId, names: [{ type: 'url', value: uri.replace('coffer', 'COFFER') }] }), false);
  assert.equal(
    await names({ subject: new x509.Name([{ CN: ['x'] }, { CN: [clientId] }]) }),
    false,
    'of two names neither counts',
  );
  assert.equal(await names({ cn: 'x', names: [{ type: 'email', value: clientId }] }), false);
  const constrained = async (facts: TestCertificateFacts) =>
    namesClient(parsed(await root.issue(facts)), name, { isConstrained: true });
  assert.equal(await constrained({ cn: clientId }), false, 'constraints bind no common name');
  assert.ok(await constrained({ cn: 'x', names: [{ type: 'dns', value: clientId }] }));
  assert.ok(await constrained({ cn: 'x', names: [{ type: 'url', value: uri }] }));
});

test('our URI has a fully qualified host; of former ones the tenant alone is the host', () => {
  const clientId = '0b2b1c3e-9d0a-4c43-9c1f-000000000001';
  const tenantId = 'tenant_01m7fahha20000gcft3h169cfs';
  const dashed = tenantId.replace('_', '-');
  assert.equal(clientUri({ tenantId, clientId }), `coffer://${dashed}.coffer.invalid/app-connection/${clientId}`);
  for (const host of [`${dashed}.coffer.invalid`, dashed, tenantId])
    assert.deepEqual(parseClientUri(`coffer://${host}/app-connection/${clientId}`), { tenantId, clientId }, host);
  for (const host of [
    `${tenantId}.coffer.invalid`,
    `${dashed}.coffer.example`,
    `${dashed}.`,
    `x.${dashed}.coffer.invalid`,
  ])
    assert.equal(parseClientUri(`coffer://${host}/app-connection/${clientId}`), null, host);
});

test('our URI has one spelling', () => {
  const uri = 'coffer://tenant_01m7fahha20000gcft3h169cfs/app-connection/0b2b1c3e-9d0a-4c43-9c1f-000000000001';
  assert.notEqual(parseClientUri(uri), null);
  for (const other of [
    `${uri}/`,
    `${uri}?`,
    `${uri}\n`,
    uri.toUpperCase(),
    uri.replace('b2b', 'B2B'),
    uri.replace('//', '//x@'),
    ` ${uri}`,
  ]) {
    assert.equal(parseClientUri(other), null, other);
  }
});

test('whatever bytes come, parsing ends, and with nothing that is not what was signed', async () => {
  const root = await testAuthority();
  const leaf = await root.issue({ cn: 'client', names: [{ type: 'dns', value: 'client' }] });
  let read = 0;
  for (let n = 0; n < 3000; n++) {
    const der = Buffer.from(leaf.der);
    // Each byte is changed once, then several at once.
    for (let changed = 0; changed <= n / 1500; changed++) {
      const at = n < der.length && changed === 0 ? n : randomInt(der.length);
      der[at] = ((der[at] as number) + randomInt(1, 256)) & 0xff;
    }
    if (der.equals(leaf.der)) continue;
    const certificate = parseCertificate(der);
    if (certificate === null) continue;
    read++;
    const { reason } = verifyChain(certificate, [], [parsed(root)], { isUsageRequired: false });
    assert.notEqual(reason, null, `byte by byte it is another certificate: ${der.toString('hex')}`);
  }
  assert.ok(read > 100);
  const nested = Buffer.concat([Buffer.alloc(15_000, Buffer.from([0x30, 0x80])), Buffer.alloc(1000)]);
  assert.equal(parseCertificate(nested), null);
});

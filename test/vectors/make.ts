import { execFileSync } from 'node:child_process';
import {
  constants,
  createECDH,
  createHash,
  createPublicKey,
  generateKeyPairSync,
  hash,
  publicEncrypt,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ml_dsa65 } from '@noble/post-quantum/ml-dsa.js';
import { ml_kem768 } from '@noble/post-quantum/ml-kem.js';
import { Encoder } from 'cbor-x';

/**
 * Makes the vectors of this folder anew: `npx node test/vectors/make.ts`. It knows nothing of the service's code. Offsets and constructions are written
 * down once more from the standards, so that a mistake in the one is not repeated by the other.
 */

const HERE = import.meta.dirname;
const work = mkdtempSync(join(tmpdir(), 'coffer-vectors-'));
const openssl = (...args: string[]) =>
  execFileSync('openssl', args, { cwd: work, stdio: ['ignore', 'pipe', 'ignore'] });
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const write = (name: string, data: string | Uint8Array) => writeFileSync(join(HERE, name), data);
const writeJson = (name: string, data: unknown) => write(name, `${JSON.stringify(data, null, 2)}\n`);
/** So many bytes that are found nowhere else, the same in each run. */
const filled = (name: string, length: number) => createHash('shake128', { outputLength: length }).update(name).digest();

/** draft-ietf-lamps-pq-composite-sigs, id-MLDSA65-RSA3072-PSS-SHA512. */
function compositeSignature(): void {
  const seed = randomBytes(32);
  const mlDsa = ml_dsa65.keygen(seed);
  const rsa = generateKeyPairSync('rsa', { modulusLength: 3072 });
  const label = Buffer.from('COMPSIG-MLDSA65-RSA3072-PSS-SHA512');
  const message = Buffer.from('The quick brown fox jumps over the lazy dog.');
  const context = Buffer.from('a context of our own');
  const signed = (ctx: Buffer) => {
    const digest = hash('sha512', message, 'buffer');
    const all = [Buffer.from('CompositeAlgorithmSignatures2025'), label, Buffer.from([ctx.length]), ctx, digest];
    const representative = Buffer.concat(all);
    const pss = { key: rsa.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
    const first = ml_dsa65.sign(representative, mlDsa.secretKey, { context: label });
    return base64(Buffer.concat([first, sign('sha256', representative, pss)]));
  };
  const pk = [mlDsa.publicKey, rsa.publicKey.export({ format: 'der', type: 'pkcs1' })];
  const sk = [seed, rsa.privateKey.export({ format: 'der', type: 'pkcs1' })];
  const keys = { pk: base64(Buffer.concat(pk)), sk: base64(Buffer.concat(sk)) };
  const one = {
    tcId: 'id-MLDSA65-RSA3072-PSS-SHA512',
    ...keys,
    s: signed(Buffer.alloc(0)),
    sWithContext: signed(context),
  };
  writeJson('composite-signature.json', { m: base64(message), ctx: base64(context), tests: [one] });
}

/** draft-ietf-lamps-pq-composite-kem. */
function compositeKem(): void {
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const point = Buffer.from(ec.publicKey.export({ format: 'der', type: 'spki' })).subarray(-65);
  const rsaPublic = rsa.publicKey.export({ format: 'der', type: 'pkcs1' });
  const ephemeral = createECDH('prime256v1');
  const ephemeralPoint = ephemeral.generateKeys();
  const oaepSecret = randomBytes(32);
  const oaepKey = createPublicKey({ key: rsaPublic, format: 'der', type: 'pkcs1' });
  const tests = [
    hybrid('id-MLKEM768-RSA2048-SHA3-256', 'MLKEM768-RSAOAEP2048', {
      publicKey: rsaPublic,
      privateKey: rsa.privateKey.export({ format: 'der', type: 'pkcs1' }),
      secret: oaepSecret,
      ciphertext: publicEncrypt({ key: oaepKey, oaepHash: 'sha256' }, oaepSecret),
    }),
    hybrid('id-MLKEM768-ECDH-P256-SHA3-256', 'MLKEM768-P256', {
      publicKey: point,
      privateKey: ec.privateKey.export({ format: 'der', type: 'sec1' }),
      secret: ephemeral.computeSecret(point),
      ciphertext: ephemeralPoint,
    }),
  ];
  writeJson('composite-kem.json', { tests });
}

type Classical = Record<'publicKey' | 'privateKey' | 'secret' | 'ciphertext', Buffer>;

function hybrid(tcId: string, label: string, { publicKey, privateKey, secret, ciphertext }: Classical) {
  const seed = randomBytes(64);
  const mlKem = ml_kem768.keygen(seed);
  const { cipherText, sharedSecret } = ml_kem768.encapsulate(mlKem.publicKey);
  const parts = [sharedSecret, secret, ciphertext, publicKey, Buffer.from(label)];
  return {
    tcId,
    ek: base64(Buffer.concat([mlKem.publicKey, publicKey])),
    dk: base64(Buffer.concat([seed, privateKey])),
    c: base64(Buffer.concat([cipherText, ciphertext])),
    k: base64(createHash('sha3-256').update(Buffer.concat(parts)).digest()),
  };
}

const FROM = '20240102030405Z';
const UNTIL = '20240102060405Z';
const MADE_AT = Date.UTC(2024, 0, 2, 4, 5, 6, 789);

/** A root, an authority and a leaf on P-384, made by the openssl command. */
function certificates(): { pem: Record<'root' | 'between' | 'leaf', string>; leafKey: string } {
  writeFileSync(join(work, 'index'), '');
  writeFileSync(
    join(work, 'ca.cnf'),
    `[ca]\ndefault_ca=own\n[own]\ndatabase=${join(work, 'index')}\nnew_certs_dir=${work}\ndefault_md=sha384\npolicy=any\nrand_serial=yes\nunique_subject=no\n[any]\ncommonName=supplied\n` +
      '[authority]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n' +
      '[leaf]\nbasicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n',
  );
  const make = (name: string, extensions: string, issuer: string | null) => {
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:secp384r1', '-nodes', '-keyout', `${name}.key`];
    openssl('req', '-new', ...curve, '-out', `${name}.csr`, '-subj', `/CN=Coffer vectors ${name}`);
    const by =
      issuer === null
        ? ['-selfsign', '-keyfile', `${name}.key`]
        : ['-cert', `${issuer}.pem`, '-keyfile', `${issuer}.key`];
    const life = ['-startdate', FROM, '-enddate', UNTIL];
    openssl(
      'ca',
      '-batch',
      '-notext',
      '-config',
      'ca.cnf',
      ...by,
      ...life,
      '-extensions',
      extensions,
      '-in',
      `${name}.csr`,
      '-out',
      `${name}.pem`,
    );
    return readFileSync(join(work, `${name}.pem`), 'utf8');
  };
  const pem = {
    root: make('root', 'authority', null),
    between: make('between', 'authority', 'root'),
    leaf: make('leaf', 'leaf', 'between'),
  };
  return { pem, leafKey: join(work, 'leaf.key') };
}

/** COSE_Sign1 (RFC 9052) over the attestation document that AWS describes; CBOR by cbor-x, the signature by the openssl command. */
function nitro({ pem, leafKey }: ReturnType<typeof certificates>): object {
  const encoder = new Encoder({ useRecords: false, mapsAsObjects: false, variableMapSize: true });
  const cbor = (value: unknown) => Buffer.from(encoder.encode(value));
  const der = (text: string) => Buffer.from(new X509Certificate(text).raw);
  const pcrs = new Map(Array.from({ length: 16 }, (_, n) => [n, filled(`pcr${n}`, 48)] as const));
  const nonce = filled('nonce', 20);
  const moduleId = 'i-0f0e0d0c0b0a09080-enc0123456789abcdef';
  const payload = cbor(
    new Map<string, unknown>([
      ['module_id', moduleId],
      ['digest', 'SHA384'],
      ['timestamp', BigInt(MADE_AT)],
      ['pcrs', pcrs],
      ['certificate', der(pem.leaf)],
      ['cabundle', [der(pem.root), der(pem.between)]],
      ['public_key', null],
      ['user_data', null],
      ['nonce', nonce],
    ]),
  );
  const protectedHeader = cbor(new Map([[1, -35]]));
  writeFileSync(join(work, 'signed'), cbor(['Signature1', protectedHeader, Buffer.alloc(0), payload]));
  const signature = rawSignature(openssl('dgst', '-sha384', '-sign', leafKey, 'signed'), 48);
  write('nitro-attestation-document.b64', `${base64(cbor([protectedHeader, new Map(), payload, signature]))}\n`);
  return {
    root_fingerprint: createHash('sha256').update(der(pem.root)).digest('hex'),
    valid_from: '2024-01-02T03:04:05.000Z',
    valid_until: '2024-01-02T06:04:05.000Z',
    module_id: moduleId,
    timestamp: new Date(MADE_AT).toISOString(),
    nonce: base64(nonce),
    pcr4: hex(pcrs.get(4) ?? Buffer.alloc(0)),
  };
}

/** From DER (two ASN.1 integers) to r and s side by side. */
function rawSignature(der: Buffer, bytes: number): Buffer {
  const rAt = der[1] === 0x81 ? 3 : 2;
  const r = der.subarray(rAt + 2, rAt + 2 + Number(der[rAt + 1]));
  const s = der.subarray(rAt + 2 + r.length + 2);
  const fixed = (part: Buffer) => Buffer.concat([Buffer.alloc(bytes), part]).subarray(-bytes);
  return Buffer.concat([fixed(r), fixed(s)]);
}

/** Intel SGX ECDSA quote, version 3: header, report, signature section. */
function sgx({ pem }: ReturnType<typeof certificates>): object {
  const header = Buffer.alloc(48);
  header.writeUInt16LE(3, 0);
  header.writeUInt16LE(2, 2);
  header.writeUInt16LE(7, 8);
  header.writeUInt16LE(13, 10);
  filled('qe vendor', 16).copy(header, 12);
  const data = Buffer.from('report data of our own');
  const report = sgxReport('enclave', { prodId: 3, svn: 9, data });
  const qeReport = sgxReport('quoting enclave', { prodId: 1, svn: 4, data: Buffer.alloc(0) });
  const authentication = filled('authentication', 32);
  const chain = Buffer.from(pem.leaf + pem.between + pem.root);
  const section = Buffer.concat([
    filled('signature', 64),
    filled('attestation key', 64),
    qeReport,
    filled('qe signature', 64),
    unsigned(2, authentication.length),
    authentication,
    unsigned(2, 5),
    unsigned(4, chain.length),
    chain,
  ]);
  write('sgx-quote-v3.bin', Buffer.concat([header, report, unsigned(4, section.length), section]));
  return {
    data: data.toString('utf8'),
    mrenclave: hex(filled('enclave mrenclave', 32)),
    mrsigner: hex(filled('enclave mrsigner', 32)),
    qe_vendor_id: hex(filled('qe vendor', 16)),
    numbers: [7, 13, 3],
    isv_svn: 9,
    cpu_svn: hex(filled('enclave cpu', 16)),
    xfrm: '0x00000000000000e7',
    qe_mrsigner: hex(filled('quoting enclave mrsigner', 32)),
    qe_numbers: [1, 4],
    qe_authentication_data: hex(authentication),
    certification_bytes: chain.length,
  };
}

function sgxReport(name: string, { prodId, svn, data }: { prodId: number; svn: number; data: Buffer }): Buffer {
  const report = Buffer.alloc(384);
  filled(`${name} cpu`, 16).copy(report, 0);
  // Initialised and 64-bit; the extended features that every enclave on Linux asks for.
  report.writeBigUInt64LE(0x5n, 48);
  report.writeBigUInt64LE(0xe7n, 56);
  filled(`${name} mrenclave`, 32).copy(report, 64);
  filled(`${name} mrsigner`, 32).copy(report, 128);
  report.writeUInt16LE(prodId, 256);
  report.writeUInt16LE(svn, 258);
  data.copy(report, 320);
  return report;
}

function unsigned(bytes: number, value: number): Buffer {
  const written = Buffer.alloc(bytes);
  written.writeUIntLE(value, 0, bytes);
  return written;
}

/** AMD SEV-SNP firmware ABI, ATTESTATION_REPORT, version 2. */
function sevSnp(): object {
  const report = Buffer.alloc(0x4a0);
  report.writeUInt32LE(2, 0);
  report.writeUInt32LE(6, 0x04);
  // ABI 1.31, simultaneous multithreading, the bit that is always one, debugging.
  report.writeBigUInt64LE(0xb011fn, 0x08);
  report.writeUInt32LE(1, 0x30);
  report.writeUInt32LE(1, 0x34);
  // From the least byte: boot loader 3, tee 1, four that are reserved, snp 8, microcode 0x73.
  report.writeBigUInt64LE(0x7308000000000103n, 0x38);
  const data = Buffer.from([9, 8, 7, 6, 5]);
  data.copy(report, 0x50);
  filled('measurement', 48).copy(report, 0x90);
  filled('chip', 64).copy(report, 0x1a0);
  report.set([5, 0x37, 1], 0x1e8);
  // The least byte first, in fields of 72 bytes.
  const [r, s] = [filled('r', 48), filled('s', 48)];
  r.copy(report, 0x2a0);
  s.copy(report, 0x2a0 + 72);
  write('sev-snp-report.bin', report);
  return {
    data: base64(data),
    measurement: hex(filled('measurement', 48)),
    numbers: [2, 6, 1],
    current_tcb: { value: '0x7308000000000103', boot_loader: 3, tee: 1, snp: 8, microcode: 0x73 },
    chip_id: hex(filled('chip', 64)),
    current_firmware: { major: 1, minor: 0x37, build: 5 },
    r: hex(r),
    s: hex(s),
  };
}

try {
  compositeSignature();
  compositeKem();
  const chain = certificates();
  writeJson('facts.json', { nitro: nitro(chain), sgx: sgx(chain), sev_snp: sevSnp() });
} finally {
  rmSync(work, { recursive: true });
}

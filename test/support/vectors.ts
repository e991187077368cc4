import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import own from '../vectors/facts.json' with { type: 'json' };

const OWN = join(import.meta.dirname, '../vectors');
/** Documents that others made, where they lie beside the project. */
const OUTSIDE = join(import.meta.dirname, '../../../shared/vectors');

export interface Vector {
  /** For the name of a test. */
  readonly by: string;
  readonly isOwn: boolean;
  readonly bytes: Buffer;
}

/** Ours, which every machine has, and the one from outside where it is at hand. */
export function vectors(name: string): Vector[] {
  const ours = { by: 'of our own making', isOwn: true, bytes: readFileSync(join(OWN, name)) };
  const file = join(OUTSIDE, name);
  return existsSync(file) ? [ours, { by: 'from outside', isOwn: false, bytes: readFileSync(file) }] : [ours];
}

interface NitroFacts {
  /** Null for the root of AWS. */
  readonly rootFingerprint: string | null;
  readonly validFrom: number;
  readonly validUntil: number;
  readonly moduleId: string;
  readonly timestamp: string;
  /** Null where nobody says what it should be. */
  readonly nonce: string | null;
  readonly pcr4: string;
  readonly isDebug: boolean;
}

/** What its makers say of it. */
const OF_AWS: NitroFacts = {
  rootFingerprint: null,
  validFrom: Date.UTC(2023, 8, 18, 14, 37, 9),
  validUntil: Date.UTC(2023, 8, 18, 17, 37, 12),
  moduleId: 'i-0918f6c55e3b61d89-enc018aa8b8e2285d13',
  timestamp: '2023-09-18T15:03:30.860Z',
  nonce: null,
  pcr4: 'd0531b1400dd',
  isDebug: true,
};

export function nitroVectors(): (Vector & { readonly facts: NitroFacts })[] {
  const { nitro } = own;
  const ofOurs: NitroFacts = {
    rootFingerprint: nitro.root_fingerprint,
    validFrom: Date.parse(nitro.valid_from),
    validUntil: Date.parse(nitro.valid_until),
    moduleId: nitro.module_id,
    timestamp: nitro.timestamp,
    nonce: nitro.nonce,
    pcr4: nitro.pcr4,
    isDebug: false,
  };
  return vectors('nitro-attestation-document.b64').map((vector) => ({
    ...vector,
    bytes: Buffer.from(vector.bytes.toString('utf8'), 'base64'),
    facts: vector.isOwn ? ofOurs : OF_AWS,
  }));
}

const OF_PHALA: typeof own.sgx = {
  data: 'Hello, world!',
  mrenclave: '33d8736db756ed4997e04ba358d27833188f1932ff7b1d156904d3f560452fbb',
  mrsigner: '815f42f11cf64430c30bab7816ba596a1da0130c3b028b673133a66cf9a3e0e6',
  qe_vendor_id: '939a7233f79c4ca9940a0db3957f0607',
  numbers: [10, 15, 0],
  isv_svn: 0,
  cpu_svn: '0b0b1a18ffff04000000000000000000',
  xfrm: '0x00000000000000e7',
  qe_mrsigner: '8c4f5775d796503e96137f77c68a829a0056ac8ded70140b081b094490c57bff',
  qe_numbers: [1, 10],
  qe_authentication_data: '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
  certification_bytes: 3548,
};

export function sgxVectors(): (Vector & { readonly facts: typeof own.sgx })[] {
  return vectors('sgx-quote-v3.bin').map((vector) => ({ ...vector, facts: vector.isOwn ? own.sgx : OF_PHALA }));
}

/** Of long values only how they begin. */
const OF_GOOGLE: typeof own.sev_snp = {
  data: 'AQIDBAU=',
  measurement: 'b07af9620f3b839b',
  numbers: [2, 0, 0],
  current_tcb: { value: '0x4405000000000002', boot_loader: 2, tee: 0, snp: 5, microcode: 0x44 },
  chip_id: '3ac3fe21e13fb099',
  current_firmware: { major: 1, minor: 0x31, build: 3 },
  r: '4f8e8b5ab8f8f969',
  s: 'e689246ba09566b6',
};

export function sevSnpVectors(): (Vector & { readonly facts: typeof own.sev_snp })[] {
  return vectors('sev-snp-report.bin').map((vector) => ({ ...vector, facts: vector.isOwn ? own.sev_snp : OF_GOOGLE }));
}

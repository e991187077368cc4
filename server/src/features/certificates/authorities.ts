import type { webcrypto } from 'node:crypto';
import { BoundedCache, KEY_PAIR_BYTES } from '../../kernel/base/bounded-cache.ts';
import { type Clock, DAY_MS, MINUTE_MS } from '../../kernel/base/clock.ts';
import { UnsealError } from '../../kernel/crypto/sealing.ts';
import type { Keyring } from '../../kernel/keys/keyring.ts';
import type { RekeyedTenant } from '../../kernel/keys/rekeying.ts';
import { type Database, type Tx, UniqueViolation } from '../../kernel/storage/database.ts';
import { SYSTEM_TENANT } from '../../kernel/storage/tables.ts';
import { type ParsedCertificate, parseCertificate } from './certificate.ts';
import * as store from './store.ts';
import * as x509 from './x509.ts';

export const CERTIFICATES_PURPOSE = 'certificates';
/** The estimate covers a key pair and a certificate with its parsed parts. */
const AUTHORITIES_BOUNDS = { bytesMax: 16 * 1024 * 1024, bytesOf: () => 4 * KEY_PAIR_BYTES };

export const CLIENT_LIFE_MAX_MS = 90 * DAY_MS;
export const ROOT_LIFE_MS = 3650 * DAY_MS;
export const TENANT_LIFE_MS = 730 * DAY_MS;
/** An authority is renewed so early that every certificate the old one may still sign expires before it does. */
export const TENANT_RENEWED_BEFORE_MS = 2 * CLIENT_LIFE_MAX_MS;
export const ROOT_RENEWED_BEFORE_MS = TENANT_LIFE_MS + 365 * DAY_MS;
/** Certificates are backdated by this much, so that a new one is already valid for peers whose clocks are behind. */
export const BACKDATED_MS = 5 * MINUTE_MS;

/** A certificate authority, ready to sign. */
export interface Authority {
  readonly tenantId: string;
  readonly caNo: number;
  readonly rootNo: number | null;
  readonly certificate: ParsedCertificate;
  readonly pem: string;
  readonly subject: x509.Name;
  readonly keyId: string;
  readonly signingKey: CryptoKey;
}

/**
 * The root of the installation and one authority under it for each tenant, created at first use. Each generation is a numbered row: if two nodes
 * create the same one, the second insert fails and that node uses the first's.
 */
export class Authorities {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #loaded = new BoundedCache<string, Authority>(AUTHORITIES_BOUNDS);

  constructor(parts: { database: Database; keyring: Keyring; clock: Clock }) {
    this.#database = parts.database;
    this.#keyring = parts.keyring;
    this.#clock = parts.clock;
  }

  /** Returns the authority that signs now, created or renewed first if that is due. */
  async newest(tenantId: string): Promise<Authority> {
    const [row] = await this.#current(tenantId);
    return this.#load(row);
  }

  /** Returns every authority that is still valid, newest first; there is at least one. */
  async valid(tenantId: string): Promise<Authority[]> {
    return Promise.all((await this.#current(tenantId)).map((row) => this.#load(row)));
  }

  /** Like `valid`, but returns the stored rows, which contain the revocation lists. */
  async validRows(tenantId: string): Promise<readonly store.AuthorityRow[]> {
    return this.#current(tenantId);
  }

  root(): Promise<Authority> {
    return this.newest(SYSTEM_TENANT);
  }

  async find(tenantId: string, caNo: number): Promise<Authority | null> {
    const loaded = this.#loaded.get(slotOf(tenantId, caNo));
    if (loaded !== undefined) return loaded;
    const row = await store.findAuthority(this.#database.read, tenantId, caNo);
    return row === undefined ? null : this.#load(row);
  }

  async rootOf(authority: Authority): Promise<Authority> {
    const root = authority.rootNo === null ? authority : await this.find(SYSTEM_TENANT, authority.rootNo);
    if (root === null) throw new Error('the root of an authority is missing in the database');
    return root;
  }

  async #current(tenantId: string): Promise<[store.AuthorityRow, ...store.AuthorityRow[]]> {
    const now = this.#clock.now();
    const renewedBefore = renewedBeforeMs(tenantId);
    for (;;) {
      const rows = await store.listAuthorities(this.#database.read, tenantId);
      const [newest, ...older] = rows;
      const isFarFromExpiry = newest !== undefined && newest.not_after - now > renewedBefore;
      if (isFarFromExpiry && !hasLegacyNameConstraint(await this.#load(newest))) {
        return [newest, ...older.filter((row) => row.not_after > now)];
      }
      await this.#create(tenantId, (newest?.ca_no ?? 0) + 1);
    }
  }

  async #create(tenantId: string, caNo: number): Promise<void> {
    const issuer = tenantId === SYSTEM_TENANT ? null : await this.root();
    const keys = await crypto.subtle.generateKey(x509.KEY_ALGORITHM, true, ['sign', 'verify']);
    const now = this.#clock.now();
    const certificate = await certify(tenantId, keys, issuer, now);
    const der = new Uint8Array(certificate.rawData);
    const key = new Uint8Array(await crypto.subtle.exportKey('pkcs8', keys.privateKey));
    const not_after = certificate.notAfter.getTime();
    const location = keyLocation({ ca_no: caNo, certificate: der, not_after }, { notAfter: not_after });
    const sealed_key = await this.#keyring.seal(CERTIFICATES_PURPOSE, { tenantId, ...location }, key);
    key.fill(0);
    const row: store.AuthorityRow = {
      tenant_id: tenantId,
      ca_no: caNo,
      root_no: issuer?.caNo ?? null,
      certificate: der,
      sealed_key,
      not_after,
      created_at: now,
      revocations: 0,
      crl: null,
      crl_number: 0,
      crl_revocations: 0,
      crl_made_at: 0,
    };
    try {
      await this.#database.transaction((tx) => store.insertAuthority(tx, row));
    } catch (error) {
      if (!(error instanceof UniqueViolation)) throw error;
    }
  }

  /**
   * The key is unsealed even if only the certificate is needed: that proves the certificate, because the key is sealed together with its thumbprint.
   */
  async #load(row: store.AuthorityRow): Promise<Authority> {
    const slot = slotOf(row.tenant_id, row.ca_no);
    const loaded = this.#loaded.get(slot);
    if (loaded !== undefined) return loaded;
    const der = new Uint8Array(row.certificate);
    const certificate = parseCertificate(der);
    if (certificate === null) throw new Error('a stored authority cannot be read');
    const location = keyLocation(row, certificate);
    const key = await this.#keyring.unseal(
      CERTIFICATES_PURPOSE,
      { tenantId: row.tenant_id, ...location },
      row.sealed_key,
    );
    const signingKey = await crypto.subtle.importKey('pkcs8', new Uint8Array(key), x509.KEY_ALGORITHM, false, ['sign']);
    key.fill(0);
    const authority: Authority = {
      tenantId: row.tenant_id,
      caNo: row.ca_no,
      rootNo: row.root_no,
      certificate,
      pem: x509.pemOf('CERTIFICATE', der),
      subject: new x509.X509Certificate(der).subjectName,
      keyId: x509.keyIdOf(certificate.native.publicKey.export({ format: 'der', type: 'spki' })),
      signingKey,
    };
    this.#loaded.set(slot, authority);
    return authority;
  }
}

/**
 * An authority from before release 0.5 constrains URIs, for which rustls, pyca and others refuse every certificate of it. A new authority is created,
 * and the old one stays valid until it expires.
 */
function hasLegacyNameConstraint({ certificate }: Authority): boolean {
  const permitted = [...(certificate.nameConstraints?.permittedSubtrees ?? [])];
  return permitted.some(({ base }) => base.uniformResourceIdentifier !== undefined);
}

function renewedBeforeMs(tenantId: string): number {
  return tenantId === SYSTEM_TENANT ? ROOT_RENEWED_BEFORE_MS : TENANT_RENEWED_BEFORE_MS;
}

/**
 * Runs during a rekey. Anyone who had the old root key may have the keys of these authorities, so each is replaced at its next use and stays valid
 * only as long as the certificates it signed. The keys are sealed again under the new root key, so that nobody with the old one can replace them.
 * Returns the numbers of those that could not be unsealed.
 */
export async function retireAuthorities(tx: Tx, keys: RekeyedTenant, now: number): Promise<string[]> {
  const { tenantId } = keys;
  const notUnsealed: string[] = [];
  for (const row of await store.listAuthorities(tx, tenantId)) {
    const certificate = parseCertificate(new Uint8Array(row.certificate));
    try {
      if (certificate === null) throw new UnsealError();
      const key = keys.unseal(CERTIFICATES_PURPOSE, keyLocation(row, certificate), row.sealed_key);
      const not_after = Math.min(row.not_after, now + renewedBeforeMs(tenantId));
      const sealed_key = keys.seal(CERTIFICATES_PURPOSE, keyLocation({ ...row, not_after }, certificate), key);
      key.fill(0);
      await store.retireAuthority(tx, row, { sealed_key, not_after });
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      notUnsealed.push(String(row.ca_no));
    }
  }
  return notUnsealed;
}

/** Creates a self-signed root if there is no issuer, and otherwise a tenant's authority, which may sign client certificates and nothing else. */
async function certify(
  tenantId: string,
  keys: webcrypto.CryptoKeyPair,
  issuer: Authority | null,
  now: number,
): Promise<x509.X509Certificate> {
  const keyId = x509.keyIdOf(new Uint8Array(await crypto.subtle.exportKey('spki', keys.publicKey)));
  const keyIdPrefix = keyId.slice(0, 8);
  const subject = new x509.Name([
    { O: ['Coffer'] },
    { CN: [issuer === null ? `Coffer Root CA ${keyIdPrefix}` : `Coffer CA ${tenantId} ${keyIdPrefix}`] },
  ]);
  const wanted = now + (issuer === null ? ROOT_LIFE_MS : TENANT_LIFE_MS);
  const end = Math.min(wanted, issuer?.certificate.notAfter ?? wanted);
  return x509.X509CertificateGenerator.create({
    serialNumber: x509.newSerial(),
    subject,
    issuer: issuer?.subject ?? subject,
    notBefore: new Date(x509.floorToSecond(now - BACKDATED_MS)),
    notAfter: new Date(x509.floorToSecond(end)),
    publicKey: keys.publicKey,
    signingKey: issuer?.signingKey ?? keys.privateKey,
    signingAlgorithm: x509.SIGNING_ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, issuer === null ? 1 : 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      new x509.SubjectKeyIdentifierExtension(keyId),
      new x509.AuthorityKeyIdentifierExtension(issuer?.keyId ?? keyId),
      ...(issuer === null ? [] : [new x509.ExtendedKeyUsageExtension([x509.CLIENT_AUTH]), x509.noServerConstraints()]),
    ],
  });
}

function slotOf(tenantId: string, caNo: number): string {
  return `${tenantId} ${caNo}`;
}

/**
 * Includes the thumbprint of the certificate, so that the key can be unsealed only with it. If the authority expires before its certificate does,
 * that time is included too, so that nobody can postpone it.
 */
function keyLocation(
  { ca_no, certificate, not_after }: Pick<store.AuthorityRow, 'ca_no' | 'certificate' | 'not_after'>,
  { notAfter }: Pick<ParsedCertificate, 'notAfter'>,
) {
  const until = not_after === notAfter ? '' : ` until ${not_after}`;
  return {
    table: 'certificate_authorities',
    row: `${ca_no} ${x509.thumbprintOf(new Uint8Array(certificate))}${until}`,
  };
}

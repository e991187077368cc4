import { removeRecorded } from '../../kernel/audit/log/removal.ts';
import type { PeerCertificate } from '../../kernel/auth/peer-certificate.ts';
import { BoundedCache } from '../../kernel/base/bounded-cache.ts';
import { DAY_MS } from '../../kernel/base/clock.ts';
import { sha256 } from '../../kernel/crypto/digest.ts';
import { findTenant } from '../../kernel/integrity/tenant-rows.ts';
import type { Share } from '../../kernel/jobs/share.ts';
import type { Reader, Tx } from '../../kernel/storage/database.ts';
import { SYSTEM_TENANT } from '../../kernel/storage/tables.ts';
import { type Cutoff, earlier } from '../../kernel/time/cutoff.ts';
import type { Page } from '../../kernel/wire/cursor.ts';
import { Authorities } from './authorities.ts';
import { type ParsedCertificate, parseCertificate } from './certificate.ts';
import { type ChainVerdict, verifyChain } from './chain.ts';
import { externalAnchors, namesClient } from './external.ts';
import { issue, newSubject, requestedSubject } from './issuing.ts';
import type { CertificateKernel } from './links.ts';
import { type ClientName, parseClientUri } from './names.ts';
import { buildRevocationList } from './revocation-list.ts';
import type { CertificateRow } from './store.ts';
import * as store from './store.ts';
import * as x509 from './x509.ts';

const VERDICTS_BYTES_MAX = 8 * 1024 * 1024;
const VERDICT_BYTES = 512;
export const CRL_LIFE_MS = 2 * DAY_MS;
/** A list is renewed after a quarter of its lifetime, so that anyone who fetches it gets one that lasts. */
const CRL_RENEWED_AFTER_MS = CRL_LIFE_MS / 4;
/** Expired certificates are stored this long, so that anyone who investigates a failure can tell them from unknown ones. */
const DELETED_AFTER_MS = 30 * DAY_MS;
/** Far more than expire within an hour where there are few connections. */
const FORGOTTEN_AT_ONCE = 100;
const SERIALS_PER_QUERY = 500;

export type Checked = { ok: true; serial: string } | { ok: false; reason: string };

export interface Prepared {
  certificate: string;
  ca_chain: string;
  certificate_signing_request: string;
  private_key: string | null;
  row: CertificateRow;
}

interface Accepted {
  serial: string;
  notBefore: number;
  notAfter: number;
}

/** Issues, revokes and checks client certificates. It does not know what a certificate allows. */
export class Certificates {
  readonly authorities: Authorities;
  readonly #kernel: CertificateKernel;
  readonly #accepted = new BoundedCache<string, Accepted>({
    bytesMax: VERDICTS_BYTES_MAX,
    bytesOf: (_, key) => VERDICT_BYTES + 2 * key.length,
  });
  readonly #parsed = new WeakMap<PeerCertificate, { leaf: ParsedCertificate | null }>();

  constructor(kernel: CertificateKernel) {
    this.#kernel = kernel;
    this.authorities = new Authorities(kernel);
  }

  /**
   * Signs a certificate; call it outside any transaction. The tenant's authority is created at first use. The key is generated here unless a CSR is
   * given.
   */
  async prepare(request: {
    tenantId: string;
    clientId: string;
    connectionNo: number;
    csrPem?: string | undefined;
    ttlMs: number;
    /** The federation whose exchange issues it, for example to a CI job. The lifetime may then be shorter than the minimum for other certificates. */
    source?: string;
  }): Promise<Prepared> {
    const { tenantId, connectionNo, csrPem, ttlMs, source = null } = request;
    const subject = csrPem === undefined ? await newSubject(request) : await requestedSubject(csrPem);
    const authority = await this.authorities.newest(tenantId);
    const root = await this.authorities.rootOf(authority);
    const crlUrl = `${this.#kernel.addresses.baseUrl}/pki/${tenantId}/crl.der?ca=${authority.caNo}`;
    const now = this.#kernel.clock.now();
    const facts = { publicKey: subject.publicKey, connectionNo, ttlMs, source, crlUrl, now };
    const { pem, row } = await issue(authority, request, facts);
    return {
      certificate: pem,
      ca_chain: authority.pem + root.pem,
      certificate_signing_request: subject.csrPem,
      private_key: subject.privateKeyPem,
      row,
    };
  }

  insert(tx: Tx, row: CertificateRow): Promise<void> {
    return store.insertCertificate(tx, row);
  }

  /** The certificates that were issued to a connection, in the order of their serial numbers. */
  ofClient(
    db: Reader,
    tenantId: string,
    clientId: string,
    { after, limit }: { after: string; limit: number },
  ): Promise<Page<CertificateRow>> {
    return store.certificatesOfClient(db, tenantId, clientId, { after, limit });
  }

  /**
   * Revokes all live certificates of a connection, or only these serials, from a time on that may lie in the future. Returns the serials that were
   * revoked. The caller raises the tenant's epoch.
   */
  async revoke(
    tx: Tx,
    tenantId: string,
    which: store.RevocationTarget,
    { reason, at }: { reason: string; at: number },
  ): Promise<string[]> {
    const mark = { revoked_at: at, reason };
    const revoked: string[] = [];
    for (const serials of which.serials === undefined ? [undefined] : partsOf(which.serials)) {
      const part = serials === undefined ? which : { ...which, serials };
      revoked.push(...(await store.revoke(tx, tenantId, part, mark)));
    }
    if (revoked.length > 0) await store.incrementRevocations(tx, tenantId);
    return revoked;
  }

  /**
   * Whether a certificate belongs to this connection and is valid now, judged by its chain, its key and its exact bytes, never by its contents alone.
   * The result is cached for the tenant's epoch, which a revocation raises; the time is compared on each use. `denied` is a JSON list of thumbprints:
   * a certificate that is one of them, or was issued under one, is refused.
   */
  async check(
    { tenantId, clientId }: ClientName,
    peer: PeerCertificate,
    externalCaPem: string | null,
    denied: string | null = null,
  ): Promise<Checked> {
    const epoch = await this.#kernel.epochs.current(tenantId);
    if (epoch === null) return { ok: false, reason: 'unknown tenant' };
    const trust = externalCaPem === null ? '' : x509.thumbprintOf(Buffer.from(externalCaPem));
    const slot = `${tenantId} ${clientId} ${peer.thumbprint} ${epoch} ${trust} ${denied ?? ''}`;
    let accepted = this.#accepted.get(slot);
    if (accepted === undefined) {
      const leaf = this.#leafOf(peer);
      if (leaf === null) return { ok: false, reason: 'malformed certificate' };
      const name = { tenantId, clientId };
      const verdict =
        externalCaPem === null
          ? await this.#checkOwn(name, leaf)
          : checkExternal(name, leaf, peer.chain, externalAnchors(externalCaPem));
      if (verdict.reason !== null) return { ok: false, reason: verdict.reason };
      if (denied !== null && isDenied(verdict.path, denied)) return { ok: false, reason: 'denied by its thumbprint' };
      accepted = { serial: leaf.serial, notBefore: verdict.notBefore, notAfter: verdict.notAfter };
      this.#accepted.set(slot, accepted);
    }
    const now = this.#kernel.clock.now();
    if (now < accepted.notBefore) return { ok: false, reason: 'not valid yet' };
    if (now > accepted.notAfter) return { ok: false, reason: 'expired' };
    return { ok: true, serial: accepted.serial };
  }

  /** The stored row of a certificate that passed the check; undefined for one that an external authority issued. */
  issued(db: Reader, tenantId: string, peer: PeerCertificate): Promise<CertificateRow | undefined> {
    return store.findCertificate(db, tenantId, this.#leafOf(peer)?.serial ?? '');
  }

  /** The connection that a certificate of ours claims to belong to. Nothing is verified here. */
  claimed(peer: PeerCertificate): ClientName | null {
    const leaf = this.#leafOf(peer);
    const [uri, ...more] = leaf?.subjectAltNames.filter(({ type }) => type === 'url') ?? [];
    return uri === undefined || more.length > 0 ? null : parseClientUri(uri.value);
  }

  /** A certificate is parsed once per connection of a client, however many requests it sends. */
  #leafOf(peer: PeerCertificate): ParsedCertificate | null {
    let known = this.#parsed.get(peer);
    if (known === undefined) {
      known = { leaf: parseCertificate(peer.der) };
      this.#parsed.set(peer, known);
    }
    return known.leaf;
  }

  async #checkOwn({ tenantId, clientId }: ClientName, leaf: ParsedCertificate): Promise<ChainVerdict> {
    const [name, ...more] = leaf.subjectAltNames;
    const said = name?.type === 'url' && more.length === 0 ? parseClientUri(name.value) : null;
    if (said === null) return { reason: 'not a client certificate of this service' };
    if (said.tenantId !== tenantId) return { reason: 'of another tenant' };
    if (said.clientId !== clientId) return { reason: 'of another connection' };
    const row = await store.findCertificate(this.#kernel.database.read, tenantId, leaf.serial);
    if (row === undefined) return { reason: 'not issued here' };
    if (row.client_id !== clientId) return { reason: 'of another connection' };
    if (row.thumbprint !== x509.thumbprintOf(leaf.der)) return { reason: 'not the certificate that was issued' };
    const authority = await this.authorities.find(tenantId, row.ca_no);
    if (authority === null) return { reason: 'the CA is unknown' };
    const root = await this.authorities.rootOf(authority);
    // No certificate that the client sent takes part: the path from our root down is our own.
    const verdict = verifyChain(leaf, [authority.certificate.der], [root.certificate], { isUsageRequired: true });
    if (verdict.reason !== null || row.revoked_at === null) return verdict;
    if (row.revoked_at <= this.#kernel.clock.now()) return { reason: `revoked: ${row.reason}` };
    return { ...verdict, notAfter: Math.min(verdict.notAfter, row.revoked_at - 1) };
  }

  /** The authorities of a tenant and their root, or null if there is no such tenant. */
  async tenantPem(tenantId: string): Promise<string | null> {
    if ((await findTenant(this.#kernel.database.read, tenantId)) === undefined) return null;
    const authorities = await this.authorities.valid(tenantId);
    return authorities.map(({ pem }) => pem).join('') + (await this.rootPem());
  }

  async rootPem(): Promise<string> {
    const roots = await this.authorities.valid(SYSTEM_TENANT);
    return roots.map(({ pem }) => pem).join('');
  }

  async revocationListPem(tenantId: string): Promise<string | null> {
    if ((await findTenant(this.#kernel.database.read, tenantId)) === undefined) return null;
    // The root's own list, which is empty, is included for clients that demand a list for every authority on the path, as nginx does.
    const rows = [
      ...(await this.authorities.validRows(tenantId)),
      ...(await this.authorities.validRows(SYSTEM_TENANT)),
    ];
    const lists = await Promise.all(rows.map((row) => this.#revocationList(row)));
    return lists.map((list) => x509.pemOf('X509 CRL', list)).join('');
  }

  /** The list of one authority of a tenant, the newest unless a number is given; null if no valid authority has that number. */
  async revocationListDer(tenantId: string, caNo: number | undefined): Promise<Uint8Array | null> {
    if ((await findTenant(this.#kernel.database.read, tenantId)) === undefined) return null;
    const rows = await this.authorities.validRows(tenantId);
    const row = caNo === undefined ? rows[0] : rows.find(({ ca_no }) => ca_no === caNo);
    return row === undefined ? null : this.#revocationList(row);
  }

  /** Returns the stored list while it is fresh. Otherwise the node that gets the first request creates the next one. */
  async #revocationList(found: store.AuthorityRow): Promise<Uint8Array> {
    const { database, clock } = this.#kernel;
    for (let row: store.AuthorityRow | undefined = found; row !== undefined; ) {
      const now = clock.now();
      const isFresh = row.crl_revocations === row.revocations && now - row.crl_made_at < CRL_RENEWED_AFTER_MS;
      const { tenant_id, ca_no, crl_made_at } = row;
      const isDue =
        isFresh &&
        (await store.hasRevocationBetween(database.read, tenant_id, ca_no, { after: crl_made_at, until: now }));
      if (row.crl !== null && isFresh && !isDue) return row.crl;
      const authority = await this.authorities.find(tenant_id, ca_no);
      if (authority === null) break;
      const revoked = await store.listRevoked(database.read, tenant_id, ca_no, now);
      const thisUpdate = x509.floorToSecond(now);
      const times = { thisUpdate, nextUpdate: thisUpdate + CRL_LIFE_MS };
      const crl = await buildRevocationList(authority, revoked, { number: row.crl_number + 1, ...times });
      const list = { crl, crl_revocations: row.revocations, crl_made_at: now };
      const before = row;
      if (await database.transaction((tx) => store.storeRevocationList(tx, before, list))) return crl;
      row = await store.findAuthority(database.read, tenant_id, ca_no);
    }
    throw new Error('an authority is gone');
  }

  async endedShare(cutoff: Cutoff): Promise<Share[]> {
    const { read } = this.#kernel.database;
    const expired = await store.countExpiredBefore(read, earlier(cutoff, DELETED_AFTER_MS));
    return [{ of: 'certificates', expired, floor: FORGOTTEN_AT_ONCE, total: () => store.countCertificates(read) }];
  }

  async deleteEnded(job: string, cutoff: Cutoff, signal: AbortSignal): Promise<void> {
    const which = store.expiredBefore(earlier(cutoff, DELETED_AFTER_MS));
    const removal = { job, action: 'certificates:purge', table: store.CERTIFICATES, which };
    await removeRecorded(this.#kernel, removal, signal);
  }
}

/** An external authority does not know our serials, so it identifies the connection by a name. */
function checkExternal(
  name: ClientName,
  leaf: ParsedCertificate,
  sent: readonly Uint8Array[],
  anchors: readonly ParsedCertificate[],
): ChainVerdict {
  if (anchors.length === 0) return { reason: 'the external authority cannot be read' };
  if (!namesClient(leaf, name, { isConstrained: false })) return { reason: 'does not name the connection' };
  const verdict = verifyChain(leaf, sent, anchors, { isUsageRequired: false });
  if (verdict.reason !== null) return verdict;
  const isConstrained = verdict.path.some(({ nameConstraints }) => nameConstraints !== null);
  if (namesClient(leaf, name, { isConstrained })) return verdict;
  return { reason: 'names the connection only as its common name, which the authority’s name constraints do not bind' };
}

function isDenied(path: readonly ParsedCertificate[], denied: string): boolean {
  const thumbprints = new Set(JSON.parse(denied) as string[]);
  return path.some(({ der }) => thumbprints.has(sha256(der).toString('hex')));
}

function partsOf(serials: readonly string[]): (readonly string[])[] {
  const parts = [];
  for (let at = 0; at < serials.length; at += SERIALS_PER_QUERY) parts.push(serials.slice(at, at + SERIALS_PER_QUERY));
  return parts;
}

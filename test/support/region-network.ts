import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.ts';
import { DatabaseProxy } from './proxy.ts';
import { testAuthority } from './test-authority.ts';

/** Nothing listens there, so a connection is refused at once. */
export const CLOSED_PORT = 1;

export interface RegionFiles {
  dataDir: string;
  databaseUrl: string | undefined;
  port: number;
  tlsPort: number;
  certFile: string;
  keyFile: string;
  /** What the others trust: the certificate of the region, and the authority of its server. */
  peerFile: string;
}

/** Certificates, ports and links of several regions. The ports stay the same over restarts, and every link can be cut. */
export class RegionNetwork {
  readonly #folder = mkdtempSync(join(tmpdir(), 'coffer-regions-'));
  readonly #files = new Map<string, RegionFiles>();
  /** From one region to another, by `from>to`. */
  readonly #links = new Map<string, DatabaseProxy>();

  async add(name: string, databaseUrl: string | undefined): Promise<RegionFiles> {
    const certificate = await testAuthority({ cn: `region ${name}`, isCa: false, keyUsage: null });
    const file = (suffix: string) => join(this.#folder, `${name}${suffix}`);
    writeFileSync(file('.pem'), certificate.pem);
    writeFileSync(file('.key'), await certificate.keyPem(), { mode: 0o600 });
    const files: RegionFiles = {
      dataDir: file('-data'),
      databaseUrl,
      port: await freePort(),
      tlsPort: await freePort(),
      certFile: file('.pem'),
      keyFile: file('.key'),
      peerFile: file('-peer.pem'),
    };
    this.#files.set(name, files);
    return files;
  }

  find(name: string): RegionFiles | undefined {
    return this.#files.get(name);
  }

  files(name: string): RegionFiles {
    const files = this.#files.get(name);
    if (files === undefined) throw new Error(`${name} is not prepared`);
    return files;
  }

  /** Call it once the data folder has the authority of its server. */
  trust(name: string): void {
    const { dataDir, certFile, peerFile } = this.files(name);
    writeFileSync(peerFile, `${readFileSync(certFile, 'utf8')}\n${readFileSync(join(dataDir, 'ca.pem'), 'utf8')}`);
  }

  /** A certificate with another key for a region, and the steps in which it takes the place of the present one. */
  async replacementOf(name: string, isCa: boolean) {
    const { dataDir, certFile, keyFile, peerFile } = this.files(name);
    const renewed = await testAuthority({ cn: `region ${name}`, isCa, keyUsage: null });
    const keyPem = await renewed.keyPem();
    const old = readFileSync(certFile, 'utf8').split('-----END CERTIFICATE-----')[0] ?? '';
    const oldPem = `${old}-----END CERTIFICATE-----`;
    const authority = readFileSync(join(dataDir, 'ca.pem'), 'utf8');
    const write = (file: string, ...pems: string[]) => writeFileSync(file, `${pems.join('\n')}\n`);
    return {
      announce: () => write(peerFile, oldPem, renewed.pem, authority),
      use: () => {
        write(certFile, renewed.pem, oldPem);
        writeFileSync(keyFile, keyPem, { mode: 0o600 });
      },
      retire: () => {
        write(peerFile, renewed.pem, authority);
        write(certFile, renewed.pem);
      },
    };
  }

  urlOf(name: string): string {
    return `http://127.0.0.1:${this.files(name).port}`;
  }

  /** The settings of a region. `names`: all regions of the group, whether they run or not. */
  async envOf(name: string, names: readonly string[]): Promise<Record<string, string>> {
    const own = this.files(name);
    const others = names.filter((other) => other !== name);
    const peers: string[] = [];
    for (const other of others) {
      const { port } = await this.#link(name, other);
      peers.push(`${other}=${this.files(other).peerFile}@https://127.0.0.1:${port}`);
    }
    return {
      CV_PORT: String(own.port),
      CV_TLS_PORT: String(own.tlsPort),
      CV_REGION: name,
      CV_REGIONS: names.map((other) => `${other}=${this.urlOf(other)}`).join(','),
      CV_REGION_PEERS: peers.join(','),
      CV_REGION_CERT_FILE: own.certFile,
      CV_REGION_KEY_FILE: own.keyFile,
    };
  }

  async #link(from: string, to: string): Promise<DatabaseProxy> {
    const name = `${from}>${to}`;
    const link = this.#links.get(name) ?? (await DatabaseProxy.before(`tcp://127.0.0.1:${this.files(to).tlsPort}`));
    this.#links.set(name, link);
    return link;
  }

  /** Cuts a region off from the others, or from one of them, or connects it again. */
  setConnected(name: string, isConnected: boolean, other?: string): void {
    for (const [link, proxy] of this.#links) {
      const [from = '', to = ''] = link.split('>');
      if (from !== name && to !== name) continue;
      if (other !== undefined && from !== other && to !== other) continue;
      proxy.target = isConnected ? this.files(to).tlsPort : CLOSED_PORT;
      if (!isConnected) proxy.reset();
    }
  }

  /** By which one region calls another. */
  link(from: string, to: string): DatabaseProxy {
    const proxy = this.#links.get(`${from}>${to}`);
    if (proxy === undefined) throw new Error(`${from} has no link to ${to}`);
    return proxy;
  }

  /** Cuts what one region sends to another, and not what that one sends, or connects it again. */
  setLink(from: string, to: string, isConnected: boolean): void {
    const proxy = this.link(from, to);
    proxy.target = isConnected ? this.files(to).tlsPort : CLOSED_PORT;
    if (!isConnected) proxy.reset();
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

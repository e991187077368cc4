import { resolve } from 'node:path';
import { SECOND_MS } from '../../kernel/base/clock.ts';
import type { ValuesOf } from '../../settings/setting.ts';
import { settingGroup } from '../../settings/setting-group.ts';
import { type Kind, parseBaseUrl, text, whole } from '../../settings/setting-kind.ts';
import type { Values } from '../../settings/settings.ts';

/** The region of this installation and the others. */
export interface RegionConfig {
  readonly name: string;
  /** The URLs for clients of all regions, this one included. */
  readonly urls: Readonly<Record<string, string>>;
  readonly peers: readonly RegionPeer[];
  /** What this region presents to the others. */
  readonly certFile: string;
  readonly keyFile: string;
  /** 0 if changes are accepted without reaching other regions. */
  readonly leaseMs: number;
}

export interface RegionPeer {
  readonly name: string;
  readonly certFile: string;
  readonly syncUrl: string;
}

const MAX_REGIONS = 16;
const REGION_NAME = /^[a-z][a-z0-9-]{0,31}$/;

/** Another region: its certificates, and where it synchronizes if that is not its public URL. */
interface WrittenPeer {
  readonly certFile: string;
  readonly syncUrl: string | null;
}

const regionName: Kind<string> = {
  expects: 'the name of a region: a small letter, then at most 31 small letters, digits and hyphens',
  parse: (written) => (REGION_NAME.test(written) ? written : undefined),
};
const regionUrls: Kind<ReadonlyMap<string, string>> = {
  expects: `a comma-separated list of at most ${MAX_REGIONS} regions with their https:// URLs, each once, such as eu=https://eu.example.com,us=https://us.example.com`,
  parse: (written) => parseRegions(written, parseRegionUrl),
};
const regionPeers: Kind<ReadonlyMap<string, WrittenPeer>> = {
  expects: `a comma-separated list of at most ${MAX_REGIONS} regions, each once, with a PEM file and, where they synchronize at another URL than clients use, that URL, such as us=/etc/coffer/us.pem@https://us.internal:7443`,
  parse: (written) => parseRegions(written, parsePeer),
};

function parseRegions<T>(written: string, parse: (text: string) => T | undefined): ReadonlyMap<string, T> | undefined {
  const parsed = new Map<string, T>();
  for (const entry of written.split(',', MAX_REGIONS + 1)) {
    const [, name = '', text = ''] = /^([^=]*)=(.*)$/.exec(entry.trim()) ?? [];
    const value = parse(text);
    if (!REGION_NAME.test(name) || value === undefined || parsed.has(name) || parsed.size === MAX_REGIONS)
      return undefined;
    parsed.set(name, value);
  }
  return parsed;
}

/** Plain http is accepted for the machine itself, to try regions out. Anywhere else a redirect to it would reveal credentials. */
function parseRegionUrl(written: string): string | undefined {
  const origin = parseBaseUrl(written);
  if (origin === undefined || origin.startsWith('https:')) return origin;
  return ['localhost', '127.0.0.1', '[::1]'].includes(new URL(origin).hostname) ? origin : undefined;
}

function parsePeer(written: string): WrittenPeer | undefined {
  const at = written.lastIndexOf('@https://');
  const certFile = text.parse(at === -1 ? written : written.slice(0, at));
  const syncUrl = at === -1 ? null : parseBaseUrl(written.slice(at + 1));
  return certFile === undefined || syncUrl === undefined ? undefined : { certFile, syncUrl };
}

const SETTINGS = [
  {
    name: 'CV_REGION',
    kind: regionName,
    default: null,
    fallback: 'none: the installation is not part of a group of regions',
    doc: 'Name of the region of this installation, which is one of those in `CV_REGIONS`.',
    secret: false,
  },
  {
    name: 'CV_REGIONS',
    kind: regionUrls,
    default: null,
    doc: 'All regions with the URLs that clients use, such as `eu=https://eu.example.com,us=https://us.example.com`. Together with `CV_REGION`.',
    secret: false,
  },
  {
    name: 'CV_REGION_PEERS',
    kind: regionPeers,
    default: null,
    doc: 'For each other region, a PEM file with the certificates that it presents (and the CA of its server certificate, if that is another one), such as `us=/etc/coffer/us.pem`. `us=/etc/coffer/us.pem@https://us.internal:7443` synchronizes at that URL, which must request client certificates. Together with `CV_REGION`.',
    secret: false,
  },
  {
    name: 'CV_REGION_CERT_FILE',
    kind: text,
    default: null,
    fallback: '`CV_TLS_CERT_FILE`',
    doc: 'PEM file with the certificate that this region presents to the others. Together with `CV_REGION_KEY_FILE`.',
    secret: false,
  },
  {
    name: 'CV_REGION_KEY_FILE',
    kind: text,
    default: null,
    fallback: '`CV_TLS_KEY_FILE`',
    doc: 'PEM file with its private key, which also signs what this region tells the others. Together with `CV_REGION_CERT_FILE`.',
    secret: false,
  },
  {
    name: 'CV_REGION_LEASE_SECONDS',
    kind: whole(0, 3600),
    default: '30',
    doc: 'Seconds for which a region accepts changes of its tenants without having reached enough other regions; a promotion waits as long if the former primary region cannot be reached. 0 disables both: then stop the former region before a promotion.',
    secret: false,
  },
] as const;

type RegionValues = ValuesOf<typeof SETTINGS>;

function conflicts(given: ReadonlySet<string>, values: Partial<RegionValues>): string[] {
  if (!given.has('CV_REGION')) {
    const idle = SETTINGS.map(({ name }) => name).filter((name) => given.has(name));
    return idle.map((name) => `${name} has no effect here: remove it, or set CV_REGION.`);
  }
  const problems: string[] = [];
  const { CV_REGION: own, CV_REGIONS: urls, CV_REGION_PEERS: peers } = values;
  if (!given.has('CV_REGIONS')) problems.push('CV_REGIONS must be set too, or remove CV_REGION.');
  const names = [...(urls?.keys() ?? [])];
  const others = names.filter((name) => name !== own);
  const missing = others.filter((name) => peers?.has(name) !== true);
  const unknown = [...(peers?.keys() ?? [])].filter((name) => !others.includes(name));
  if (urls && own && !names.includes(own)) problems.push('CV_REGIONS must list the region in CV_REGION too.');
  if (urls && peers !== undefined && missing.length > 0)
    problems.push(`CV_REGION_PEERS must list every other region in CV_REGIONS: ${missing.join(', ')} is missing.`);
  if (urls && unknown.length > 0)
    problems.push(`CV_REGION_PEERS must list only other regions in CV_REGIONS: remove ${unknown.join(', ')}.`);
  if (given.has('CV_REGION_CERT_FILE') !== given.has('CV_REGION_KEY_FILE'))
    problems.push('CV_REGION_CERT_FILE and CV_REGION_KEY_FILE belong together: set both.');
  if (others.length > 0 && !given.has('CV_REGION_CERT_FILE') && !given.has('CV_TLS_CERT_FILE'))
    problems.push('CV_REGION_CERT_FILE and CV_REGION_KEY_FILE must be set, so that other regions know this one.');
  return problems;
}

function build(values: RegionValues & Values): RegionConfig | null {
  const { CV_REGION: name, CV_REGIONS: urls, CV_REGION_PEERS: peers } = values;
  if (name === null || urls === null) return null;
  return Object.freeze({
    name,
    urls: Object.freeze(Object.fromEntries(urls)),
    peers: Object.freeze(
      [...(peers ?? [])].map(([peer, { certFile, syncUrl }]) =>
        Object.freeze({ name: peer, certFile: resolve(certFile), syncUrl: syncUrl ?? urls.get(peer) ?? '' }),
      ),
    ),
    certFile: resolve(values.CV_REGION_CERT_FILE ?? values.CV_TLS_CERT_FILE ?? ''),
    keyFile: resolve(values.CV_REGION_KEY_FILE ?? values.CV_TLS_KEY_FILE ?? ''),
    leaseMs: values.CV_REGION_LEASE_SECONDS * SECOND_MS,
  });
}

/** Null if the installation is not part of a group of regions. */
export const regionSettings = settingGroup({ settings: SETTINGS, conflicts, build });

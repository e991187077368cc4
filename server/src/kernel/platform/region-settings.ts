import { type Kind, parseBaseUrl, text } from './setting-kind.ts';

const MAX_REGIONS = 16;
const REGION_NAME = /^[a-z][a-z0-9-]{0,31}$/;

/** Another region: its certificates, and where it synchronizes if that is not its public URL. */
export interface RegionPeerSetting {
  readonly certFile: string;
  readonly syncUrl: string | null;
}

export const regionName: Kind<string> = {
  expects: 'the name of a region: a small letter, then at most 31 small letters, digits and hyphens',
  parse: (written) => (REGION_NAME.test(written) ? written : undefined),
};
export const regionUrls: Kind<ReadonlyMap<string, string>> = {
  expects: `a comma-separated list of at most ${MAX_REGIONS} regions with their https:// URLs, each once, such as eu=https://eu.example.com,us=https://us.example.com`,
  parse: (written) => parseRegions(written, parseRegionUrl),
};
export const regionPeers: Kind<ReadonlyMap<string, RegionPeerSetting>> = {
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

function parsePeer(written: string): RegionPeerSetting | undefined {
  const at = written.lastIndexOf('@https://');
  const certFile = text.parse(at === -1 ? written : written.slice(0, at));
  const syncUrl = at === -1 ? null : parseBaseUrl(written.slice(at + 1));
  return certFile === undefined || syncUrl === undefined ? undefined : { certFile, syncUrl };
}

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import ipaddr from 'ipaddr.js';
import { type CountryResponse, Reader } from 'maxmind';
import { parseAddress } from '../../kernel/base/cidr.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { rollupSettings } from './settings.ts';

/** Public-domain data (CC0-1.0). The combined file: the one for IPv4 alone gives wrong countries for IPv6 addresses. */
const PACKAGE = '@ip-location-db/geo-whois-asn-country-mmdb';
const FILE = 'geo-whois-asn-country.mmdb';
const COUNTRY = /^[A-Z]{2}$/;

const WHAT_TO_DO =
  'Set CV_GEOIP_FILE to a readable file in MMDB format with countries, and restart the service; without the setting it uses its own data. Until then accesses are counted without a country.';

/** The two forms in use: the code itself, or the nested one of MaxMind. */
type CountryRecord = { country_code?: string } & Pick<CountryResponse, 'country'>;

/** From an address to its country, offline. The file is read whole at the first question: it is 8 MB, and most processes need it once an hour. */
export class Countries {
  readonly #kernel: Pick<Kernel, 'config' | 'log'>;
  #reader: Reader<CountryRecord & CountryResponse> | null | undefined;

  constructor(kernel: Pick<Kernel, 'config' | 'log'>) {
    this.#kernel = kernel;
  }

  /** Two capital letters (ISO 3166); null for private and special addresses, and those that the data does not know. */
  of(ip: string): string | null {
    const address = parseAddress(ip);
    if (address === null || ipaddr.parse(address.text).range() !== 'unicast') return null;
    const record = this.#opened()?.get(address.text);
    const code = record?.country_code ?? record?.country?.iso_code ?? '';
    return COUNTRY.test(code) ? code : null;
  }

  #opened(): Reader<CountryRecord & CountryResponse> | null {
    if (this.#reader !== undefined) return this.#reader;
    const { config, log } = this.#kernel;
    try {
      this.#reader = new Reader(readFileSync(config.of(rollupSettings).geoipFile ?? ownFile()));
    } catch (error) {
      log.error({ err: error, what_to_do: WHAT_TO_DO }, 'the data of countries cannot be read');
      this.#reader = null;
    }
    return this.#reader;
  }
}

/** The package has no entry of code, so it is found by its description. */
function ownFile(): string {
  const { resolve } = createRequire(import.meta.url);
  return join(resolve(`${PACKAGE}/package.json`), '..', FILE);
}

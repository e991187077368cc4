import { MINUTE_MS } from '../base/clock.ts';
import type { Keyring } from '../keys/keyring.ts';
import { SYSTEM_TENANT } from '../storage/tables.ts';

export const NONCE_PURPOSE = 'dpop-nonce';
const LIFE_MS = 5 * MINUTE_MS;
const NONCE_FORM = /^[0-9a-z]{1,11}\.[1-9]\d{0,8}\.[A-Za-z0-9_-]{43}$/;

/**
 * Nonces contain their creation time and are authenticated with a key that all nodes share, so that any node accepts the nonce of another and none
 * is stored. They prevent somebody who had the key for a moment from preparing proofs long before their use.
 */
export class DpopNonces {
  readonly #keyring: Keyring;

  constructor(keyring: Keyring) {
    this.#keyring = keyring;
  }

  async next(now: number): Promise<string> {
    const key = await this.#keyring.macKey(SYSTEM_TENANT, NONCE_PURPOSE);
    const time = now.toString(36);
    return `${time}.${key.version}.${key.mac(macInput(time)).toString('base64url')}`;
  }

  async isCurrent(nonce: string, now: number): Promise<boolean> {
    if (!NONCE_FORM.test(nonce)) return false;
    const [time = '', version = '', mac = ''] = nonce.split('.');
    const age = now - Number.parseInt(time, 36);
    if (age > LIFE_MS || age < -MINUTE_MS) return false;
    const given = Buffer.from(mac, 'base64url');
    return this.#keyring.verifyMac(
      SYSTEM_TENANT,
      { purpose: NONCE_PURPOSE, version: Number(version) },
      macInput(time),
      given,
    );
  }
}

function macInput(time: string): Buffer {
  return Buffer.from(`nonce:${time}`, 'utf8');
}

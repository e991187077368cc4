import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { StandInAnswer, StandInRequest } from './stand-in.ts';

export const ROLE = { role_id: 'a-role', secret_id: 'the-secret-id' };
export const JWT = 'the.service-account.token';
export const TRANSIT_SECRET = 'hvs.the-token';

/** Vault's transit engine with one key, AppRole and Kubernetes login, as far as a seal needs them, with the texts of its errors. */
export class TransitStandIn {
  readonly keys = [randomBytes(32)];
  /** The first version that it still decrypts with. */
  minVersion = 1;
  readonly tokens = new Set([TRANSIT_SECRET]);
  renewals = 0;
  leaseSeconds = 3600;
  isRenewable = true;
  hasKey = true;
  mount = '/v1/transit';
  #logins = 0;

  answer = ({ url, headers, body }: StandInRequest): StandInAnswer => {
    const members = JSON.parse(body) as Record<string, string>;
    const { pathname } = url;
    if (pathname === '/v1/auth/approle/login') {
      const isRight = members['role_id'] === ROLE.role_id && members['secret_id'] === ROLE.secret_id;
      return isRight ? this.#login() : failed(400, 'invalid role or secret ID');
    }
    if (pathname === '/v1/auth/kubernetes/login')
      return members['role'] === 'coffer' && members['jwt'] === JWT ? this.#login() : failed(403, 'permission denied');
    const token = String(headers['x-vault-token']);
    if (!this.tokens.has(token)) return failed(403, 'permission denied');
    if (pathname === '/v1/auth/token/renew-self') return this.#renew(token);
    const [, action] = pathname.startsWith(this.mount) ? (/\/(encrypt|decrypt)\/coffer$/.exec(pathname) ?? []) : [];
    if (action === undefined) return failed(404, `no handler for route "${pathname}"`);
    if (!this.hasKey) return failed(400, 'encryption key not found');
    return action === 'encrypt' ? this.#encrypt(String(members['plaintext'])) : this.#decrypt(members['ciphertext']);
  };

  #encrypt(plaintext: string): StandInAnswer {
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.keys.at(-1) as Buffer, iv);
    const parts = [iv, cipher.update(plaintext, 'base64'), cipher.final(), cipher.getAuthTag()];
    const version = this.keys.length;
    return data({ ciphertext: `vault:v${version}:${Buffer.concat(parts).toString('base64')}`, key_version: version });
  }

  #decrypt(ciphertext = ''): StandInAnswer {
    const [prefix, version = '', base64 = ''] = ciphertext.split(':');
    if (prefix !== 'vault') return failed(400, 'invalid ciphertext: no prefix');
    const number = Number(version.slice(1));
    if (number > this.keys.length) return failed(400, 'invalid ciphertext: version is too new');
    if (number < this.minVersion)
      return failed(400, 'ciphertext or signature version is disallowed by policy (too old)');
    const bytes = Buffer.from(base64, 'base64');
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.keys[number - 1] as Buffer, bytes.subarray(0, 12));
      decipher.setAuthTag(bytes.subarray(-16));
      const plaintext = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]);
      return data({ plaintext: plaintext.toString('base64') });
    } catch {
      return failed(400, 'cipher: message authentication failed');
    }
  }

  #login(): StandInAnswer {
    const token = `hvs.login-${++this.#logins}`;
    this.tokens.add(token);
    return this.#auth(token);
  }

  #renew(token: string): StandInAnswer {
    this.renewals++;
    return this.isRenewable ? this.#auth(token) : failed(400, 'lease is not renewable');
  }

  #auth(token: string): StandInAnswer {
    const auth = { client_token: token, lease_duration: this.leaseSeconds, renewable: this.isRenewable };
    return { body: { request_id: 'r', lease_id: '', data: null, auth } };
  }
}

function data(members: object): StandInAnswer {
  return { body: { request_id: 'r', lease_id: '', renewable: false, lease_duration: 0, data: members, auth: null } };
}

/** With a text in which a credential could be. */
export function failed(status: number, text: string): StandInAnswer {
  return { status, body: { errors: [`1 error occurred:\n\t* ${text} ${TRANSIT_SECRET}\n\n`] } };
}

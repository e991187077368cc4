import assert from 'node:assert/strict';
import type { Credential } from '../../server/src/features/workload-identity/contract.ts';
import type { MethodKind, Verified } from '../../server/src/features/workload-identity/methods/method.ts';
import { KeySets } from '../../server/src/kernel/external-identity/key-sets.ts';
import { ExternalIdentityRefusal } from '../../server/src/kernel/external-identity/refusal.ts';
import { AddressGuard } from '../../server/src/kernel/outbound/address-guard.ts';
import { HttpClient } from '../../server/src/kernel/outbound/http-client.ts';

export const AUDIENCE = 'https://coffer.example';

/** Verifiers with real calls to this machine, and a clock that tests move. */
export class Verifying {
  now = Date.now();
  readonly http: HttpClient;
  keySets: KeySets;

  constructor(allow: readonly string[] = ['127.0.0.1', 'localhost']) {
    this.http = new HttpClient(new AddressGuard(allow));
    this.keySets = this.#newKeySets();
  }

  #newKeySets(): KeySets {
    return new KeySets(this.http, { now: () => this.now });
  }

  clearKeys(): void {
    this.keySets = this.#newKeySets();
  }

  verify<C>(kind: MethodKind<C>, credential: Credential, config: C, owner = 'tenant_a'): Promise<Verified> {
    const { http, keySets, now } = this;
    return kind.verify(credential, config, { http, keySets, now, owner, audience: AUDIENCE });
  }
}

export async function refusedFor(work: Promise<unknown>, reason: RegExp, code = 'LOGIN_DENIED'): Promise<void> {
  const error = await work.then(
    () => assert.fail('it was accepted'),
    (thrown) => thrown,
  );
  assert.ok(error instanceof ExternalIdentityRefusal, error?.stack ?? String(error));
  assert.match(error.message, reason);
  assert.equal(error.code, code);
}

/** An external identity is not accepted. The message is the real reason, for the audit log only, and quotes nothing of the token. */
export class ExternalIdentityRefusal extends Error {
  override readonly name = 'ExternalIdentityRefusal';
  readonly code: 'LOGIN_DENIED' | 'JWKS_KEY_NOT_FOUND';

  constructor(reason: string, code: ExternalIdentityRefusal['code'] = 'LOGIN_DENIED') {
    super(reason);
    this.code = code;
  }
}

export function refuse(reason: string): never {
  throw new ExternalIdentityRefusal(reason);
}

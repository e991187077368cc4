import type { Ceiling } from './authz/ceiling.ts';
import type { CompiledPolicy } from './authz/policy.ts';
import type { Role } from './authz/roles.ts';
import type { CredentialKind } from './endpoint.ts';
import type { Plan, RateOverrides } from './limits/rate-classes.ts';

/**
 * Who asks, as far as every decision needs it. It is resolved from a credential, and valid for one epoch of the tenant: any change that
 * matters to access raises the epoch, and the next request resolves it anew.
 */
export interface Principal {
  kind: 'user' | 'app_connection';
  tenantId: string;
  tenantName: string;
  isOperator: boolean;
  plan: Plan;
  tenantRates: RateOverrides;
  /** The user's id, or the connection's client id. */
  id: string;
  /** What the audit log calls them: the e-mail address, or the connection's name. */
  name: string;
  displayName: string;
  /** A machine has none. */
  role: Role | null;
  credential: CredentialKind;
  /** What the audit log calls the key: the token's id, or the client id. */
  credentialId: string;
  /** What the audit log calls it instead, where the id says less: the method or the run that a machine's token came from. */
  auditKey?: string;
  tokenRates: RateOverrides;
  ceilings: readonly Ceiling[];
  policies: readonly CompiledPolicy[];
  /** When a second factor was last shown with this credential. */
  mfaAt: number | null;
  /** From when on their second factor opens fortress secrets; null without one, and for machines. */
  factorTrustedFrom: number | null;
  /** The tenant requires a second factor, and this credential has none behind it. */
  mustEnrol: boolean;
  expiresAt: number;
}

/** The part of it that the audit log names; public endpoints make one once they know who asks. */
export interface Actor {
  kind: string;
  id: string;
  name: string;
  key: string;
}

import type { Ceiling } from '../authz/ceiling.ts';
import type { CompiledPolicy } from '../authz/policy.ts';
import type { Role } from '../authz/roles.ts';
import type { CredentialKind } from '../endpoint/declaration.ts';
import type { Plan, RateOverrides } from '../limits/rate-classes.ts';

/**
 * The authenticated caller, with everything that decisions need. It is resolved from a credential and valid for one epoch of the tenant: any change
 * that matters to access increments the epoch, and the next request resolves the principal again.
 */
export interface Principal {
  kind: 'user' | 'app_connection' | 'cluster' | 'scim' | 'scraper';
  tenantId: string;
  tenantName: string;
  isOperator: boolean;
  plan: Plan;
  tenantRates: RateOverrides;
  /** The user's id, the connection's client id, the cluster's id, or the id of the SCIM token. */
  id: string;
  /** The name in the audit log: the user's e-mail address, or the name of the connection, cluster or provider. */
  name: string;
  displayName: string;
  /** Null for a machine. */
  role: Role | null;
  credential: CredentialKind;
  /** The credential in the audit log: the token's id, the client id, the cluster's id, or the id of the SCIM token. */
  credentialId: string;
  /** Replaces the id in the audit log where it says more: the method or the run that a machine's token came from. */
  auditKey?: string;
  tokenRates: RateOverrides;
  ceilings: readonly Ceiling[];
  policies: readonly CompiledPolicy[];
  /** When the person signed in; null for other credentials than sessions, for a session of a device code, and for one of a passkey that was removed. */
  signedInAt: number | null;
  /** When a second factor was last shown with this credential; null if it was removed since. */
  mfaAt: number | null;
  /** The time from which the second factor is trusted for fortress secrets; null without one, and for machines. */
  factorTrustedFrom: number | null;
  /** Set if the tenant requires a second factor and this credential was issued without one. */
  mustEnrol: boolean;
  expiresAt: number;
}

/** The caller as the audit log names it. Public endpoints create one once they know who sent the request. */
export interface Actor {
  kind: string;
  id: string;
  name: string;
  key: string;
}

import type { TObject } from 'typebox';
import { invalidField } from '../../../kernel/errors.ts';
import { type HttpClient, parseOutgoingUrl } from '../../../kernel/outbound/http-client.ts';
import type { KeySets } from '../../../kernel/outside-identity/key-sets.ts';
import { anyPattern, BadPattern } from '../../../kernel/safe-pattern.ts';
import type { Credential, MethodType } from '../contract.ts';

/** What a verifier works with. It knows nothing of requests, rows or tokens of ours. */
export interface Tools {
  readonly http: HttpClient;
  readonly keySets: KeySets;
  readonly now: number;
  /** The service's own. */
  readonly audience: string;
  /** The tenant that configured the method: whatever is kept is kept for it alone. */
  readonly owner: string;
}

/** Who the workload turned out to be; the details are for the audit log. */
export interface Verified {
  readonly subject: string;
  readonly details: Readonly<Record<string, string>>;
}

/** One kind of identity from outside. */
export interface MethodKind<Config> {
  readonly type: MethodType;
  readonly schema: TObject;
  /** The members of the credential it takes; any other beside them is refused. */
  readonly credential: readonly (keyof Credential)[];
  /** Members of the config that are sealed and never shown again. */
  readonly secrets: readonly (keyof Config & string)[];
  /** Members that say where such a secret is sent: it does not survive a change of them, or it could be sent anywhere. */
  readonly destinations: readonly (keyof Config & string)[];
  /** A member whose URL stands in for a provider's own, which is only for hosts that the operator opened. */
  standIn(config: Config): { member: string; url: string } | null;
  /** What whoever makes the method should know of its config, although it is accepted. */
  warningsOf?(config: Config): string[];
  /** What the schema cannot say. Throws a VALIDATION_FAILED. */
  refuseBadConfig(config: Config): void;
  /** Throws an OutsideRefusal with the true reason. */
  verify(credential: Credential, config: Config, tools: Tools): Promise<Verified>;
}

export function badConfig(member: string, reason: string): never {
  throw invalidField(`/body/config/${member}`, reason);
}

export function refuseBadPatterns(member: string, patterns: readonly string[]): void {
  try {
    anyPattern(patterns);
  } catch (error) {
    if (error instanceof BadPattern) badConfig(`${member}/${error.index}`, error.message);
    throw error;
  }
}

/** An issuer is compared as it stands, and what stands under it is fetched. */
export function refuseBadUrl(member: string, text: string | undefined): void {
  if (text === undefined) return;
  const url = parseOutgoingUrl(text);
  if (url === null) badConfig(member, 'must be an https URL in its plainest spelling, without user or fragment');
  else if (url.search !== '' || text.includes('?')) badConfig(member, 'must not have a query');
}

/** Such a list could never match, and would look as if it did. */
export function refuseUnlikely(member: string, list: readonly string[], form: RegExp, reason: string): void {
  const index = list.findIndex((entry) => !form.test(entry));
  if (index !== -1) badConfig(`${member}/${index}`, reason);
}

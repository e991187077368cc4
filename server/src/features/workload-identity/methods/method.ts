import type { TObject } from 'typebox';
import { invalidField } from '../../../kernel/base/errors.ts';
import { anyPattern, BadPattern } from '../../../kernel/base/safe-pattern.ts';
import type { KeySets } from '../../../kernel/external-identity/key-sets.ts';
import { type HttpClient, parseOutgoingUrl } from '../../../kernel/outbound/http-client.ts';
import type { Credential, MethodType } from '../contract.ts';

/** What a verifier may use. It has no access to requests, rows or tokens of the service. */
export interface Tools {
  readonly http: HttpClient;
  readonly keySets: KeySets;
  readonly now: number;
  /** The audience of the service itself. */
  readonly audience: string;
  /** The tenant that configured the method. Caches are separate for each tenant. */
  readonly owner: string;
}

/** The verified identity of the workload; the details go to the audit log. */
export interface Verified {
  readonly subject: string;
  readonly details: Readonly<Record<string, string>>;
}

/** One kind of external identity. */
export interface MethodKind<Config> {
  readonly type: MethodType;
  readonly schema: TObject;
  /** The credential fields it accepts; any other field is refused. */
  readonly credential: readonly (keyof Credential)[];
  /** Config members that are stored sealed and never returned. */
  readonly secrets: readonly (keyof Config & string)[];
  /** Config members that determine where such a secret is sent. If one changes, the secret must be sent again: otherwise it could be redirected. */
  readonly destinations: readonly (keyof Config & string)[];
  /** A config member whose URL replaces the provider's own. It is accepted only for hosts that the operator allowed. */
  standIn(config: Config): { member: string; url: string } | null;
  /** The config member whose URL a login calls, if the provider has none of its own. */
  calledUrl?(config: Config): { member: string; url: string };
  /** Warnings about a config that is accepted nevertheless. */
  warningsOf?(config: Config): string[];
  /** Checks what the schema cannot express. Throws VALIDATION_FAILED. */
  refuseBadConfig(config: Config): void;
  /** Throws an ExternalIdentityRefusal with the true reason. */
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

/** An issuer is compared byte for byte, and documents below it are fetched, so it must have one canonical spelling and no query. */
export function refuseBadUrl(member: string, text: string | undefined): void {
  if (text === undefined) return;
  const url = parseOutgoingUrl(text);
  if (url === null) badConfig(member, 'must be an https URL in canonical form, without user info or fragment');
  else if (url.search !== '' || text.includes('?')) badConfig(member, 'must not have a query');
}

/** Such an entry could never match, although the list looks as if it did. */
export function refuseUnlikely(member: string, list: readonly string[], form: RegExp, reason: string): void {
  const index = list.findIndex((entry) => !form.test(entry));
  if (index !== -1) badConfig(`${member}/${index}`, reason);
}

import {
  openUnderFirst,
  type SealOptions,
  sealZeroKnowledge,
  ZeroKnowledgeError,
  type ZeroKnowledgeSecret,
} from './zero-knowledge.ts';
import { openNewest, type ServedSecret } from './zero-knowledge-client.ts';
import { type Binding, UNBOUND } from './zero-knowledge-location.ts';

/** The caller's own requests to the vault. If one throws, the run ends; running it again continues. */
export interface VaultRequests {
  /** The paths of the vault's secrets. */
  list(): Iterable<string> | AsyncIterable<string>;
  /** Returns the newest version of a secret. */
  read(path: string): Promise<ServedSecret>;
  /** Stores the envelope as the next version; it must refuse if the newest is no longer `expectedVersion`. */
  write(path: string, value: string, expectedVersion: number): Promise<unknown>;
}

/** While either is accepted, the service could serve such an old envelope instead of a newer value: accept each in one run only, and never again. */
export interface ResealOptions extends SealOptions {
  /** Envelopes of releases up to 0.4, which may even belong to another path: see `openUnboundZeroKnowledge`. */
  acceptUnbound?: boolean;
  /** Envelopes bound to their vault and path, but to no version. */
  acceptUnversioned?: boolean;
}

export interface ResealReport {
  resealed: string[];
  /** These were already bound to their location and version. */
  unchanged: string[];
  /** Nothing was written: the envelope does not open, or only in a form that was not accepted. */
  refused: string[];
}

/** Seals the accepted values of a vault again, bound to location and version. With nothing accepted it only reports which are bound. */
export async function resealVault(
  vault: string,
  secret: ZeroKnowledgeSecret,
  requests: VaultRequests,
  { acceptUnbound = false, acceptUnversioned = false, ...options }: ResealOptions = {},
): Promise<ResealReport> {
  const report: ResealReport = { resealed: [], unchanged: [], refused: [] };
  for await (const path of requests.list()) {
    const served = await requests.read(path);
    if (await opens(() => openNewest(served, secret, { vault, path }))) {
      report.unchanged.push(path);
      continue;
    }
    const bindings: Binding[] = [
      ...(acceptUnversioned ? [{ vault, path }] : []),
      ...(acceptUnbound ? ([UNBOUND] as const) : []),
    ];
    const opened = await opens(() => openUnderFirst(served.value, secret, bindings));
    if (opened === null) {
      report.refused.push(path);
      continue;
    }
    const location = { vault, path, version: served.version + 1 };
    await requests.write(path, await sealZeroKnowledge(opened.value, secret, location, options), served.version);
    report.resealed.push(path);
  }
  return report;
}

async function opens<T>(open: () => Promise<T>): Promise<T | null> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof ZeroKnowledgeError) return null;
    throw error;
  }
}

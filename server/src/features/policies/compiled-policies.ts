import { type CompiledPolicy, compilePolicy, type PolicyDocument } from '../../kernel/authz/policy.ts';
import { BoundedCache } from '../../kernel/base/bounded-cache.ts';
import type { PolicyRow } from './store.ts';

/** Room for all policies of one tenant at its quota of number and size; a test checks this against the quotas. */
export const COMPILED_BYTES_MAX = 64 * 1024 * 1024;

interface Interned {
  readonly document: string;
  readonly policy: CompiledPolicy;
}

const interned = new BoundedCache<string, Interned>({
  bytesMax: COMPILED_BYTES_MAX,
  bytesOf: ({ document, policy }) => policy.bytes + 2 * document.length,
});

/**
 * Caches one compiled policy for all principals that have it: compiled, a policy takes many times the memory of its document, and a tenant may have
 * thousands of tokens. The document is compared too, because a version that was never committed, or was lost in a restore, may be written again with
 * another document.
 */
export function compiledPolicy({ tenant_id, policy_id, name, version, document }: PolicyRow): CompiledPolicy {
  const key = `${tenant_id} ${policy_id} ${version}`;
  const known = interned.get(key);
  if (known?.document === document && known.policy.name === name) return known.policy;
  const policy = compilePolicy(name, JSON.parse(document) as PolicyDocument);
  interned.set(key, { document, policy });
  return policy;
}

import { type EndpointDeclaration, NONE } from '../../kernel/endpoint/declaration.ts';

type Declared = Pick<EndpointDeclaration, 'audit' | 'effect' | 'plaintext' | 'method' | 'permission' | 'raw'>;

/**
 * Tells entries of requests that only looked something up: they were allowed, and every endpoint of their action does no more than that. What only the
 * service itself records is no look-up.
 */
export function buildLookUpFilter(
  declarations: readonly Declared[],
): (entry: { readonly action: string; readonly decision: string }) => boolean {
  const others = new Set(declarations.filter((each) => !onlyLooksUp(each)).map(({ audit }) => audit));
  const lookUps = new Set(declarations.map(({ audit }) => audit).filter((action) => !others.has(action)));
  return ({ action, decision }) => decision === 'allow' && lookUps.has(action);
}

/** Anyone who may ask who is allowed what: pages ask it for what they show. */
const ASKS_FOR_RIGHTS = 'policies:simulate';

/** Signatures and questions to the assistant change nothing either, but somebody wants to know of them, and of exports. */
function onlyLooksUp({ effect, plaintext, method, permission, raw }: Declared): boolean {
  if (effect === 'change' || plaintext !== false || raw !== NONE) return false;
  return method === 'GET' || permission === NONE || permission === ASKS_FOR_RIGHTS;
}

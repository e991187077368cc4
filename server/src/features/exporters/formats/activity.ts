/** What an action does to its resource, in the words that ECS and OCSF share. */
export type Activity = 'create' | 'read' | 'update' | 'delete' | 'login' | 'logout' | 'other';

const BY_ACTION: Readonly<Record<string, Activity>> = {
  'auth:login': 'login',
  'workload:login': 'login',
  federation_exchanged: 'login',
  'auth:logout': 'logout',
};

const BY_VERB: readonly [Activity, RegExp][] = [
  ['create', /^(create|created|add|added|import|copy|issue|issued|enrol|invite|restored?|wrap|encrypt|tokenize|sign)$/],
  ['delete', /^(delete|deleted|remove|removed|purged?|revoke|revoked|unbind|detach|disable)$/],
  [
    'read',
    /^(read|list|listed|export|exported|search|aggregate|compose|decrypt|detokenize|unwrap|verify|simulate|me)$/,
  ],
  ['update', /^(updated?|changed?|rotated?|rollback|move|bind|attach|reset|rewrap|approve|reject|reviewed|toggled)$/],
];

/** Actions are `<resource>:<verb>` or `<resource>_<participle>`; a longer verb, such as `list_members`, begins with its own. */
export function activityOf(action: string): Activity {
  const known = BY_ACTION[action];
  if (known !== undefined) return known;
  const colon = action.indexOf(':');
  const verb =
    colon === -1 ? action.slice(action.lastIndexOf('_') + 1) : (action.slice(colon + 1).split('_', 1)[0] ?? '');
  return BY_VERB.find(([, pattern]) => pattern.test(verb))?.[0] ?? 'other';
}

import { sha256 } from '../../kernel/crypto/digest.ts';
import type { Difference } from '../../kernel/endpoint/approval.ts';
import { type EndpointDeclaration, NONE } from '../../kernel/endpoint/declaration.ts';
import { redacted } from '../../kernel/http/redaction.ts';
import type { ApprovalRow } from './store.ts';
import type { StoredRequest } from './stored-request.ts';

/** What an approver is shown: the request, the names behind its ids, and what would change. */
export interface ShownRequest {
  method: string;
  path: string;
  query: string;
  body: unknown;
  names: Record<string, string>;
  differences: Difference[];
}

/** Renders the request as declared, without credentials. `body` was validated against its schema, so nothing in it is unknown. */
export function shownRequest(
  { method, path, body }: EndpointDeclaration,
  stored: Pick<StoredRequest, 'url' | 'params' | 'body' | 'differences'>,
): Omit<ShownRequest, 'names'> {
  return {
    method,
    path: path.replace(/\{([a-z_]+)\*?\}/g, (_, name: string) => stored.params[name] ?? ''),
    query: stored.url.split('?', 2)[1] ?? '',
    body: body === NONE || stored.body === undefined ? null : redacted(body, stored.body),
    differences: [...(stored.differences ?? [])],
  };
}

type Identity = Pick<ApprovalRow, 'approval_id' | 'kind' | 'operation' | 'resource' | 'requester_id'>;

/** Identifies what was shown for this approval and no other. The approver sends it back and thereby states what they saw. */
export function digestOf({ approval_id, kind, operation, resource, requester_id }: Identity, shown: string): string {
  return sha256(JSON.stringify([approval_id, kind, operation, resource, requester_id, shown])).toString('base64url');
}

import type { IncomingHttpHeaders } from 'node:http';
import type { CofferError } from '../base/errors.ts';
import { CREDENTIAL_KINDS, type EndpointDeclaration, errorCodes, NONE } from '../endpoint/declaration.ts';
import type { WireFormat } from '../wire/wire-format.ts';
import type { ReadyEndpoint } from './ready-endpoint.ts';

/** What is answered where a path or a method has no endpoint: an error, or the methods of a path for OPTIONS. */
export interface Unrouted {
  outcome: CofferError | { allow: string };
  format?: WireFormat | undefined;
}

const CREDENTIAL_HEADERS = ['authorization', 'x-client-id', 'x-cluster-token'];

export function hasCredential(headers: IncomingHttpHeaders): boolean {
  return CREDENTIAL_HEADERS.some((name) => headers[name] !== undefined);
}

/**
 * Stands for the missing endpoint, so that a request with a credential passes the same steps as any other: it is counted, limited and recorded. A
 * credential that could be tried out without an audit entry would help a thief.
 */
export function unroutedEndpoint({ outcome, format }: Unrouted): ReadyEndpoint {
  const declaration: EndpointDeclaration = { ...UNROUTED, ...(format && { format }) };
  return {
    declaration,
    async handler(ctx) {
      ctx.record.setResource('route');
      if (!('allow' in outcome)) throw outcome;
      ctx.setHeader('Allow', outcome.allow);
    },
    prefetch: null,
    validate: () => ({ params: undefined, query: undefined, body: undefined }),
    serialize: () => '',
    declaredErrors: DECLARED_ERRORS,
    cursorPlace: null,
  };
}

const UNROUTED: EndpointDeclaration = {
  name: 'unrouted',
  method: 'GET',
  path: '/',
  summary: 'A path or a method without an endpoint',
  noun: 'routes',
  credentials: CREDENTIAL_KINDS,
  tenant: 'own',
  beforeEnrolment: true,
  permission: NONE,
  resource: NONE,
  rate: 'read',
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  audit: 'routes:refuse',
  effect: 'read',
  params: NONE,
  query: NONE,
  body: NONE,
  bodyBytesMax: 0,
  status: 204,
  output: NONE,
  raw: NONE,
  errors: ['NOT_FOUND', 'METHOD_NOT_ALLOWED'],
};
const DECLARED_ERRORS = new Set(errorCodes(UNROUTED));

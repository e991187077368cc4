import type { RouteOutput } from '@coffer/client';

export type Provider = RouteOutput<'GET /auth/sso/providers'>['providers'][number];

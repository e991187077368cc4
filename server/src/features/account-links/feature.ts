import { feature } from '../../kernel/feature/declaration.ts';
import * as contract from './contract.ts';
import { accountLinkNeeds } from './links.ts';
import * as links from './service.ts';

/** People link their accounts with their identities at the providers of sign-on. */
export const accountLinksFeature = feature({
  name: 'account-links',
  endpoints: contract,
  needs: accountLinkNeeds,
  build: (parts) => ({
    handlers: {
      listLinks: (ctx) => links.list(ctx),
      beginLink: (ctx, { body }) => links.begin(ctx, body.provider),
      confirmLink: (ctx, { body }) => links.confirm(ctx, body),
      deleteLink: (ctx, { params }) => links.remove(ctx, params.provider, parts),
    },
  }),
});

import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import * as links from './service.ts';

/** People link their accounts with their identities at the providers of sign-on. */
export function accountLinksFeature(_: Kernel, wiring: Wiring): Feature {
  const ports = wiring.needs('isProvisioned');
  return {
    name: 'account-links',
    endpoints: bindContract(contract, {
      listLinks: (ctx) => links.list(ctx),
      beginLink: (ctx, { body }) => links.begin(ctx, body.provider),
      confirmLink: (ctx, { body }) => links.confirm(ctx, body),
      deleteLink: (ctx, { params }) => links.remove(ctx, params.provider, ports),
    }),
  };
}
